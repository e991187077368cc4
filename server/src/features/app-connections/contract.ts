import Type from 'typebox';
import { IpAllowlist } from '../../kernel/authz/ceiling.ts';
import { environmentText } from '../../kernel/authz/environment.ts';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { described, named } from '../../kernel/named-schemas.ts';
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
} from '../../kernel/wire.ts';
import { pathText, readSecret } from '../secrets/index.ts';
import { vaultName } from '../vaults/index.ts';
import {
  allowedPaths,
  CERTIFICATE_DAYS_DEFAULT,
  CERTIFICATE_DAYS_MAX,
  Connection,
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
  noun: 'app-connections',
  nounDescription: 'Identities of machines: which vaults and paths they reach, and how they prove themselves.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  params: NONE,
  query: NONE,
  body: NONE,
} as const;

const ofOne = {
  resource: 'app-connection/{connection}',
  params: object({ connection: connectionId }),
} as const;

const asked = {
  description: Type.Optional(freeText(1024, 'What it is for.')),
  allowed_paths: Type.Optional(allowedPaths),
  scopes: Type.Optional(scopes),
  mtls_required: Type.Optional(Type.Boolean({ description: 'True unless given.' })),
  require_dpop: Type.Optional(Type.Boolean({ description: 'It must send DPoP proofs. False unless given.' })),
  ...sessionFields,
};

export const createConnection = endpoint({
  ...common,
  name: 'createConnection',
  approval: 'rbac_change',
  method: 'POST',
  path: '/v1/app-connections',
  summary: 'Make an AppConnection: a machine’s identity',
  description:
    'The client secret, and the private key if the service makes it, are shown in this answer and never again. It takes the right to add ' +
    'members to each vault it is given. With a production vault it needs approval; nobody is shown its credentials then, and `rotate` makes new ones.',
  permission: 'app_connections:create',
  resource: 'app-connection',
  rate: 'write',
  audit: 'connection_created',
  effect: 'change',
  body: objectWithExamples([{ name: 'payments-api', vault: 'payments', allowed_paths: ['database/*'] }], {
    name: resourceName,
    vault: Type.Optional(described('A vault, by name: in place of `vault_ids`, or beside them.', vaultName)),
    vault_ids: Type.Optional(vaultIds),
    ...asked,
    ip_allowlist: Type.Optional(IpAllowlist),
    environment: Type.Optional(environmentText),
    dpop_jkt: Type.Optional(dpopThumbprint),
    external_ca_pem: Type.Optional(
      pem('CA certificates that its client certificates are issued by, in place of ours.'),
    ),
    denied_thumbprints: Type.Optional(deniedThumbprints),
    csr_pem: Type.Optional(pem('A certificate signing request: the key then never leaves its owner.')),
    certificate_ttl_days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: CERTIFICATE_DAYS_MAX,
        description: `${CERTIFICATE_DAYS_DEFAULT} unless given.`,
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
  description: 'Without their secrets, which are shown once, when they are made.',
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
  description: 'Without its secret, which was shown once, when it was made.',
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
  description: 'The same as by `GET /v1/app-connections/{connection}`, for clients that know only this id.',
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
    'Takes effect on its next request, on every node. Giving it more takes the right to add members to its vaults, and needs approval if it reaches a production vault.',
  permission: 'app_connections:update',
  rate: 'write',
  audit: 'connection_updated',
  effect: 'change',
  body: object({
    name: Type.Optional(resourceName),
    status: Type.Optional(ConnectionStatus),
    vault_ids: Type.Optional(vaultIds),
    ...asked,
    ip_allowlist: Type.Optional(nullable(IpAllowlist)),
    environment: Type.Optional(nullable(environmentText)),
    dpop_jkt: Type.Optional(nullable(dpopThumbprint)),
    external_ca_pem: Type.Optional(nullable(pem('Null: our own CA again.'))),
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
  description: 'Its secret, certificates and tokens end with it, on the next request on every node.',
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
  summary: 'Give an AppConnection a new client secret, a new certificate, or both',
  description:
    'The secret before this one is accepted for `overlap_seconds` more, 0 unless given; certificates before this one end then too. A ' +
    'connection may renew its own certificate with its secret or its certificate, but not with one that was replaced or is of an exchange, which end; its secret only people renew, and it takes the right to add members to ' +
    'its vaults.',
  permission: 'app_connections:rotate',
  resource: 'loaded',
  loads: ['app-connection/{connection}'],
  rate: 'rotate',
  audit: 'connection_rotated',
  effect: 'change',
  body: object({
    client_secret: Type.Optional(Type.Boolean({ description: 'Make a new client secret.' })),
    certificate: Type.Optional(Type.Boolean({ description: 'Issue a new certificate.' })),
    csr_pem: Type.Optional(pem('For the new certificate.')),
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_SECONDS_MAX,
        description: 'So long the secret and the certificates before stay valid; 0 unless given.',
      }),
    ),
    certificate_ttl_days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: CERTIFICATE_DAYS_MAX,
        description: 'How many days the certificate is valid; 30 unless given.',
      }),
    ),
  }),
  status: 200,
  output: object({
    id: Type.Integer({ description: 'Its number.' }),
    client_id: Type.String({ description: 'Its client id: a UUID.' }),
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
  description: 'Takes effect on the next request, on every node and on open connections, and with the next CRL.',
  permission: 'app_connections:revoke',
  resource: 'app-connection/{connection}',
  rate: 'write',
  audit: 'cert_revoked',
  effect: 'change',
  params: object({
    connection: connectionId,
    serial: Type.String({ pattern: '^[0-9a-fA-F]{1,40}$', description: 'In hexadecimal.' }),
  }),
  body: object({ reason: Type.Optional(lineOfText({ maxLength: 256 }, 'Why.')) }),
  status: 204,
  output: NONE,
  errors: ['NOT_FOUND'],
});

export const exportBundle = endpoint({
  ...common,
  ...ofOne,
  name: 'exportConnectionBundle',
  method: 'POST',
  path: '/app-connections/{connection}/export-zip',
  summary: 'Export a connection’s bundle as an encrypted archive',
  description:
    'A fresh certificate with its key, the CA chain and a description, in a ZIP archive encrypted with AES-256 (AE-2), which 7-Zip opens. ' +
    'The client secret is not in it: it was shown once. It takes the right to add members to its vaults. Without a `password` one of 125 bits is made, ' +
    'and shown once, in the header `X-Archive-Password` of the answer.',
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
          'Of the archive, if it must be one of your own: whoever gets the archive can guess at it without limit.',
      }),
    ),
    certificate_ttl_days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: CERTIFICATE_DAYS_MAX,
        description: 'How many days the certificate is valid; 30 unless given.',
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
  'A secret that a connection can fetch, and where.',
  object({
    connection_id: Type.Integer({ description: 'The number of the connection.' }),
    client_id: Type.String({ description: 'Its client id.' }),
    connection: Type.String({ description: 'Its name.' }),
    vault: Type.String({ description: 'The name of the vault.' }),
    secret: Type.String({ description: 'The path of the secret.' }),
    path: Type.String({ description: 'Where the connection fetches it.' }),
  }),
);

export const listAutoPaths = endpoint({
  ...common,
  name: 'listAutoPaths',
  method: 'GET',
  path: '/app-connections/auto-paths',
  summary: 'List under which paths which connections fetch which secrets',
  description: 'Made from the connections, their vaults and the secrets in them that you may see.',
  permission: 'app_connections:list',
  resource: 'app-connection',
  rate: 'read',
  audit: 'path_listed',
  effect: 'read',
  query: object({
    ...pageQuery,
    client_id: Type.Optional(described('Only of this AppConnection, by its client id.', idParam)),
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
  summary: 'Fetch a secret by name, with the connection’s certificate',
  description: 'A client certificate is enough; the client headers may be sent as well.',
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
  errors: ['VAULT_NOT_FOUND', 'SECRET_NOT_FOUND', 'MFA_REQUIRED'],
});
