import Type from 'typebox';
import { endpoint, NONE } from '../../kernel/endpoint.ts';
import { described } from '../../kernel/named-schemas.ts';
import { idParam, object } from '../../kernel/wire.ts';

/** These endpoints are public: anyone who checks certificates needs them, and they contain nothing secret. */
const common = {
  method: 'GET',
  noun: 'certificates',
  nounDescription: 'The certificates that clients and services trust, and the lists of those that were revoked.',
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  rate: 'none',
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  audit: NONE,
  effect: 'read',
  query: NONE,
  body: NONE,
  bodyBytesMax: 0,
  status: 200,
  output: NONE,
  raw: 'application/x-pem-file',
} as const;

const ofTenant = {
  params: object({ tenant_id: described('The id of the tenant, `tenant_…`.', idParam) }),
  errors: ['NOT_FOUND'],
} as const;

export const readRootCertificate = endpoint({
  ...common,
  name: 'readRootCertificate',
  path: '/pki/root.pem',
  summary: 'The root certificate of this installation',
  description:
    'What a client trusts to trust the TLS port, unless the operator gave it a certificate of its own. While one root replaces another there are two.',
  params: NONE,
  errors: [],
});

export const readTenantCertificates = endpoint({
  ...common,
  ...ofTenant,
  name: 'readTenantCertificates',
  path: '/pki/{tenant_id}/ca.pem',
  summary: 'The certificates that client certificates of a tenant chain to',
  description: 'The tenant’s intermediate, newest first while one replaces another, then the root.',
});

export const readRevocationList = endpoint({
  ...common,
  ...ofTenant,
  name: 'readRevocationList',
  path: '/pki/{tenant_id}/crl.pem',
  summary: 'The revoked client certificates of a tenant',
  description:
    'A certificate revocation list (RFC 5280) signed by the tenant’s intermediate, one for each while one replaces another, and the root’s. The service itself does not wait for it: a revoked certificate is refused on the next request.',
});

export const readRevocationListDer = endpoint({
  ...common,
  ...ofTenant,
  name: 'readRevocationListDer',
  path: '/pki/{tenant_id}/crl.der',
  summary: 'The revoked client certificates of one authority of a tenant, in DER',
  description: 'What the distribution point in each certificate names: one list, as RFC 5280 wants it there.',
  query: object({
    ca: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description: 'The number of the authority; the newest unless given.',
      }),
    ),
  }),
  raw: 'application/pkix-crl',
});
