import Type from 'typebox';
import { endpoint, NONE } from '../../kernel/endpoint/declaration.ts';
import { described } from '../../kernel/wire/named-schemas.ts';
import { idParam, object } from '../../kernel/wire/wire.ts';

/** These endpoints are public: anyone who checks certificates needs them, and they contain nothing secret. */
const common = {
  method: 'GET',
  noun: 'certificates',
  aboutNoun: {
    title: 'Certificates',
    group: 'Machines',
    guide: ['certificates'],
    description: 'The CA certificates that clients and services trust, and the certificate revocation lists.',
  },
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
    'Clients that trust it trust the TLS port, unless the operator configured a certificate for it. There are two while one root replaces another.',
  params: NONE,
  errors: [],
});

export const readTenantCertificates = endpoint({
  ...common,
  ...ofTenant,
  name: 'readTenantCertificates',
  path: '/pki/{tenant_id}/ca.pem',
  summary: 'The CA certificates of a tenant’s client certificates',
  description: 'The tenant’s intermediate CA, newest first while one replaces another, followed by the root.',
});

export const readRevocationList = endpoint({
  ...common,
  ...ofTenant,
  name: 'readRevocationList',
  path: '/pki/{tenant_id}/crl.pem',
  summary: 'The revoked client certificates of a tenant',
  description:
    'A certificate revocation list (RFC 5280) signed by the tenant’s intermediate CA, one for each while one replaces another, and that of the root. The service itself does not wait for it: a revoked certificate is refused on the next request.',
});

export const readRevocationListDer = endpoint({
  ...common,
  ...ofTenant,
  name: 'readRevocationListDer',
  path: '/pki/{tenant_id}/crl.der',
  summary: 'The revoked client certificates of one CA of a tenant, in DER',
  description: 'The distribution point in each certificate refers to it: a single list, as RFC 5280 requires.',
  query: object({
    ca: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description: 'The number of the CA. Default: the newest.',
      }),
    ),
  }),
  raw: 'application/pkix-crl',
});
