import Type from 'typebox';
import { IpAllowlist } from '../../kernel/authz/ceiling.ts';
import { environmentText } from '../../kernel/authz/environment.ts';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  dpopThumbprint,
  freeText,
  idParam,
  lineOfText,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  pageQuery,
  resourceName,
  timestampText,
} from '../../kernel/wire/wire.ts';
import { pathText, readSecret } from '../secrets/index.ts';
import { vaultName } from '../vaults/index.ts';
import {
  allowedPaths,
  CERTIFICATE_DAYS_DEFAULT,
  CERTIFICATE_DAYS_MAX,
  Connection,
  ConnectionCertificate,
  ConnectionStatus,
  certificateFields,
  connectionId,
  deniedThumbprints,
  EXPORT_PASSWORD_LENGTH_MIN,
  OVERLAP_SECONDS_MAX,
  pem,
  scopes,
  sessionFields,
  shownSecret,
  vaultIds,
} from './schemas.ts';

export * from './schemas.ts';

const common = {
  ...ORDINARY,
  noun: 'app-connections',
  aboutNoun: {
    title: 'AppConnections',
    group: 'Machines',
    guide: ['app-connections'],
    description: 'Machine identities: which vaults and paths they may access, and how they authenticate.',
  },
  credentials: ANY_TOKEN,
  params: NONE,
  query: NONE,
  body: NONE,
} as const;

const ofOne = {
  resource: 'app-connection/{connection}',
  params: object({ connection: connectionId }),
} as const;

const optionalFields = {
  description: Type.Optional(freeText(1024, 'The purpose of the connection.')),
  allowed_paths: Type.Optional(allowedPaths),
  scopes: Type.Optional(scopes),
  mtls_required: Type.Optional(
    Type.Boolean({ description: 'The connection must present a client certificate. Default: true.' }),
  ),
  require_dpop: Type.Optional(Type.Boolean({ description: 'The connection must send DPoP proofs. Default: false.' })),
  ...sessionFields,
};

export const createConnection = endpoint({
  ...common,
  name: 'createConnection',
  approval: 'rbac_change',
  method: 'POST',
  path: '/v1/app-connections',
  summary: 'Create an AppConnection: a machine identity',
  description:
    'The client secret, and the private key if the service creates it, are shown in this response and never again. Requires `members:add` on ' +
    'each of its vaults. If one of them is a production vault, this requires approval; the credentials are then never shown, and `rotate` creates new ones.',
  permission: 'app_connections:create',
  resource: 'app-connection',
  rate: 'write',
  audit: 'connection_created',
  effect: 'change',
  body: objectWithExamples([{ name: 'payments-api', vault: 'payments', allowed_paths: ['database/*'] }], {
    name: resourceName,
    vault: Type.Optional(described('The name of a vault, instead of or in addition to `vault_ids`.', vaultName)),
    vault_ids: Type.Optional(vaultIds),
    ...optionalFields,
    ip_allowlist: Type.Optional(IpAllowlist),
    environment: Type.Optional(environmentText),
    dpop_jkt: Type.Optional(dpopThumbprint),
    external_ca_pem: Type.Optional(
      pem('CA certificates that issue its client certificates, instead of the service’s own CA.'),
    ),
    denied_thumbprints: Type.Optional(deniedThumbprints),
    csr_pem: Type.Optional(pem('A certificate signing request. The private key then never leaves its owner.')),
    certificate_ttl_days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: CERTIFICATE_DAYS_MAX,
        description: `Validity of the certificate, in days. Default: ${CERTIFICATE_DAYS_DEFAULT}.`,
      }),
    ),
  }),
  status: 201,
  output: object({ ...Connection.properties, client_secret: shownSecret, ...certificateFields }),
  errors: ['QUOTA_EXCEEDED', 'ALREADY_EXISTS', 'VAULT_NOT_FOUND'],
});

export const listConnections = endpoint({
  ...common,
  name: 'listConnections',
  method: 'GET',
  path: '/v1/app-connections',
  summary: 'List the AppConnections of the tenant',
  description: 'Client secrets are not included: each is shown once, when it is created.',
  permission: 'app_connections:list',
  resource: 'app-connection',
  rate: 'read',
  audit: 'connection_listed',
  effect: 'read',
  query: object(pageQuery),
  status: 200,
  output: object({ app_connections: Type.Array(Connection), next_cursor: nextCursor }),
  errors: [],
});

export const readConnection = endpoint({
  ...common,
  ...ofOne,
  name: 'readConnection',
  method: 'GET',
  path: '/v1/app-connections/{connection}',
  summary: 'Read one AppConnection, by its number or its client id',
  description: 'The client secret is not included: it was shown once, when it was created.',
  permission: 'app_connections:read',
  rate: 'read',
  audit: 'connection_read',
  effect: 'read',
  status: 200,
  output: Connection,
  errors: ['NOT_FOUND'],
});

export const readConnectionByClient = endpoint({
  ...common,
  name: 'readConnectionByClient',
  method: 'GET',
  path: '/app-connections/by-client/{client_id}',
  summary: 'Read one AppConnection by its client id',
  description: 'The same as `GET /v1/app-connections/{connection}`, for clients that know only the client id.',
  permission: 'app_connections:read',
  resource: 'app-connection/{client_id}',
  rate: 'read',
  audit: 'connection_read',
  effect: 'read',
  params: object({ client_id: described('The client id of an AppConnection.', idParam) }),
  status: 200,
  output: Connection,
  errors: ['NOT_FOUND'],
});

export const updateConnection = endpoint({
  ...common,
  ...ofOne,
  name: 'updateConnection',
  approval: 'rbac_change',
  method: 'PATCH',
  path: '/v1/app-connections/{connection}',
  summary: 'Change an AppConnection',
  description:
    'Takes effect on its next request, on every node; omitted fields are unchanged. Extending its access requires `members:add` on its vaults, and approval if it has access to a production vault.',
  permission: 'app_connections:update',
  rate: 'write',
  audit: 'connection_updated',
  effect: 'change',
  body: object({
    name: Type.Optional(resourceName),
    status: Type.Optional(ConnectionStatus),
    vault_ids: Type.Optional(vaultIds),
    ...optionalFields,
    ip_allowlist: Type.Optional(nullable(IpAllowlist)),
    environment: Type.Optional(nullable(environmentText)),
    dpop_jkt: Type.Optional(nullable(dpopThumbprint)),
    external_ca_pem: Type.Optional(
      nullable(pem('CA certificates that issue its client certificates; null: the service’s own CA issues them.')),
    ),
    denied_thumbprints: Type.Optional(deniedThumbprints),
  }),
  status: 200,
  output: Connection,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'VAULT_NOT_FOUND'],
});

export const deleteConnection = endpoint({
  ...common,
  ...ofOne,
  name: 'deleteConnection',
  method: 'DELETE',
  path: '/v1/app-connections/{connection}',
  summary: 'Delete an AppConnection',
  description: 'Its client secret, certificates and tokens are rejected from the next request on, on every node.',
  permission: 'app_connections:delete',
  rate: 'write',
  audit: 'connection_deleted',
  effect: 'change',
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

export const rotateConnection = endpoint({
  ...common,
  ...ofOne,
  // Tokens of an exchange are not accepted: they expire soon, and a credential that they renewed would outlive them.
  credentials: [...ANY_TOKEN, 'connection', 'certificate'],
  name: 'rotateConnection',
  method: 'POST',
  path: '/v1/app-connections/{connection}/rotate',
  summary: 'Create a new client secret, a new certificate, or both for an AppConnection',
  description:
    'The previous secret and certificates stay valid for `overlap_seconds`. A ' +
    'connection may renew its own certificate, authenticated by its client secret or a certificate, unless that credential was replaced or was issued by a token exchange. Only a person may create a new client secret; rotation by a person requires `members:add` on ' +
    'its vaults.',
  permission: 'app_connections:rotate',
  resource: 'loaded',
  loads: ['app-connection/{connection}'],
  rate: 'rotate',
  audit: 'connection_rotated',
  effect: 'change',
  body: object({
    client_secret: Type.Optional(Type.Boolean({ description: 'Create a new client secret.' })),
    certificate: Type.Optional(Type.Boolean({ description: 'Issue a new certificate.' })),
    csr_pem: Type.Optional(pem('Certificate signing request for the new certificate.')),
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_SECONDS_MAX,
        description: 'How long the previous secret and certificates stay valid, in seconds. Default: 0.',
      }),
    ),
    certificate_ttl_days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: CERTIFICATE_DAYS_MAX,
        description: 'Validity of the certificate, in days. Default: 30.',
      }),
    ),
  }),
  status: 200,
  output: object({
    id: Type.Integer({ description: 'The number of the connection.' }),
    client_id: Type.String({ description: 'The client id of the connection: a UUID.' }),
    client_secret: nullable(shownSecret),
    ...certificateFields,
    rotated_at: timestampText,
    former_valid_until: nullable(timestampText),
  }),
  errors: ['NOT_FOUND'],
});

export const revokeCertificate = endpoint({
  ...common,
  name: 'revokeCertificate',
  method: 'POST',
  path: '/v1/app-connections/{connection}/certificates/{serial}/revoke',
  summary: 'Revoke a certificate of an AppConnection',
  description: 'Takes effect on the next request, on every node and on open connections. The next CRL contains it.',
  permission: 'app_connections:revoke',
  resource: 'app-connection/{connection}',
  rate: 'write',
  audit: 'cert_revoked',
  effect: 'change',
  params: object({
    connection: connectionId,
    serial: Type.String({ pattern: '^[0-9a-fA-F]{1,40}$', description: 'The serial number, in hexadecimal.' }),
  }),
  body: object({ reason: Type.Optional(lineOfText({ maxLength: 256 }, 'The reason for the revocation.')) }),
  status: 204,
  output: NONE,
  errors: ['NOT_FOUND'],
});

export const listCertificates = endpoint({
  ...common,
  ...ofOne,
  name: 'listConnectionCertificates',
  method: 'GET',
  path: '/v1/app-connections/{connection}/certificates',
  summary: 'List the certificates that were issued to an AppConnection',
  description:
    'Those of token exchanges are included. An expired one is listed for 30 days. Certificates of an external CA are not known to the service.',
  permission: 'app_connections:read',
  rate: 'read',
  audit: 'connection_certificates_listed',
  effect: 'read',
  query: object(pageQuery),
  status: 200,
  output: object({ certificates: Type.Array(ConnectionCertificate), next_cursor: nextCursor }),
  errors: ['NOT_FOUND'],
});

export const exportBundle = endpoint({
  ...common,
  ...ofOne,
  name: 'exportConnectionBundle',
  method: 'POST',
  path: '/app-connections/{connection}/export-zip',
  summary: 'Export the credentials of a connection as an encrypted archive',
  description:
    'A new certificate with its key, the CA chain and a description, in a ZIP archive encrypted with AES-256 (AE-2), which 7-Zip can open. ' +
    'The client secret is not included: it was shown once. Requires `members:add` on its vaults. Without `password`, one with 125 bits of entropy is generated ' +
    'and shown once, in the response header `X-Archive-Password`.',
  permission: 'app_connections:export',
  rate: 'rotate',
  audit: 'bundle_exported',
  effect: 'change',
  body: object({
    password: Type.Optional(
      Type.String({
        minLength: EXPORT_PASSWORD_LENGTH_MIN,
        maxLength: 256,
        description:
          'A password of your own for the archive. Anyone who gets the archive can try passwords without limit.',
      }),
    ),
    certificate_ttl_days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: CERTIFICATE_DAYS_MAX,
        description: 'Validity of the certificate, in days. Default: 30.',
      }),
    ),
  }),
  status: 200,
  output: NONE,
  raw: 'application/zip',
  errors: ['NOT_FOUND'],
});

const AutoPath = named(
  'AutoPath',
  'A secret that a connection can fetch, and the path to fetch it from.',
  object({
    connection_id: Type.Integer({ description: 'The number of the connection.' }),
    client_id: Type.String({ description: 'The client id of the connection.' }),
    connection: Type.String({ description: 'The name of the connection.' }),
    vault: Type.String({ description: 'The name of the vault.' }),
    secret: Type.String({ description: 'The path of the secret.' }),
    path: Type.String({ description: 'The path that the connection fetches the secret from.' }),
  }),
);

export const listAutoPaths = endpoint({
  ...common,
  name: 'listAutoPaths',
  method: 'GET',
  path: '/app-connections/auto-paths',
  summary: 'List the secrets that connections can fetch, with the path of each',
  description: 'Derived from the connections, their vaults, and the secrets in them that you may see.',
  permission: 'app_connections:list',
  resource: 'app-connection',
  rate: 'read',
  audit: 'path_listed',
  effect: 'read',
  query: object({
    ...pageQuery,
    client_id: Type.Optional(described('Only paths of this AppConnection, by its client id.', idParam)),
  }),
  status: 200,
  output: object({
    paths: Type.Array(AutoPath),
    next_cursor: nextCursor,
  }),
  errors: ['NOT_FOUND'],
});

export const fetchSecret = endpoint({
  ...common,
  credentials: ['certificate', 'connection'],
  name: 'fetchConnectionSecret',
  method: 'GET',
  path: '/app-connections/fetch/{client_id}/{vault}/{secret*}',
  summary: 'Fetch a secret by name with the connection’s certificate',
  description: 'A client certificate is sufficient; the client headers may be sent as well.',
  permission: 'secrets:read',
  resource: 'loaded',
  loads: ['vault/{vault}/{path*}'],
  rate: 'read',
  plaintext: true,
  audit: 'secrets:read',
  effect: 'read',
  params: object({
    client_id: described('The client id of an AppConnection.', idParam),
    vault: vaultName,
    secret: pathText,
  }),
  status: 200,
  output: readSecret.output,
  errors: ['VAULT_NOT_FOUND', 'SECRET_NOT_FOUND', 'MFA_REQUIRED', 'TEMPLATE_UNRESOLVED'],
});
