import Type, { type Static } from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  idParam,
  nextCursor,
  nullable,
  object,
  oneOf,
  pageQuery,
  record,
  resourceName,
  timestampText,
} from '../../kernel/wire/wire.ts';

export const PROVIDERS = ['github', 'gitlab', 'bitbucket', 'jenkins', 'teamcity', 'custom'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

export const TTL_SECONDS_MIN = 300;
export const TTL_SECONDS_MAX = 3600;
const TTL_SECONDS_DEFAULT = 900;
const CLAIMS_MAX = 16;
/** Maximum per connection, since each exchange checks all of them. */
export const FEDERATIONS_MAX = 50;
/** The length of the longest token that is parsed. */
const TOKEN_LENGTH_MAX = 16 * 1024;

const exact = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[\\u0021-\\u007e]+$', description });
const provider = named(
  'FederationProvider',
  'The CI system. Known settings of github, gitlab and bitbucket are filled in.',
  oneOf(PROVIDERS),
);
const claimValue = Type.Union([
  Type.String({ maxLength: 512 }),
  Type.Integer({ minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
  Type.Boolean(),
]);
const claims = record('^[A-Za-z0-9_.:/-]{1,128}$', claimValue, {
  maxProperties: CLAIMS_MAX,
  description: 'Claims that the token must contain, with exactly these values.',
});
const ttl = Type.Integer({
  minimum: TTL_SECONDS_MIN,
  maximum: TTL_SECONDS_MAX,
  description: `How long the issued token and certificate are valid, in seconds. Default: ${TTL_SECONDS_DEFAULT}.`,
});
const fields = {
  issuer: Type.Optional(
    exact(512, 'The exact `iss` of the tokens. Default for github and gitlab: that of the provider.'),
  ),
  jwks_url: Type.Optional(nullable(exact(512, 'The URL of the issuer’s keys. Default: that of the provider.'))),
  audience: Type.Optional(
    nullable(
      exact(
        512,
        'The only accepted `aud`: that of this service, which is the default, or another that the operator lists in `CV_AUDIENCES`.',
      ),
    ),
  ),
  claims: Type.Optional(claims),
  token_ttl_seconds: Type.Optional(ttl),
  enabled: Type.Optional(Type.Boolean({ description: 'Whether tokens are accepted. Default: true.' })),
};
const subjectPattern = exact(
  256,
  'The pattern that the whole `sub` must match, case-sensitively: `*` matches text without `:` and `/`, `**` any text. The part that names the owner must not contain a wildcard.',
);
export const DEFAULTS = { token_ttl_seconds: TTL_SECONDS_DEFAULT, enabled: true } as const;

export const Federation = named(
  'Federation',
  'Lets pipelines of a CI system act as an AppConnection.',
  object({
    id: Type.Integer({ description: 'The number of the federation.' }),
    app_connection_id: Type.Integer({ description: 'The number of the AppConnection.' }),
    name: Type.String({ description: 'The name of the federation.' }),
    provider,
    issuer: Type.String({ description: 'The exact `iss` of the tokens.' }),
    jwks_url: nullable(Type.String({ description: 'The URL of the issuer’s keys; null: by discovery.' })),
    audience: Type.String({ description: 'The only accepted `aud`.' }),
    subject_pattern: Type.String({ description: 'The pattern that the `sub` must match.' }),
    claims: Type.Record(Type.String(), claimValue, {
      description: 'Claims that the token must contain, with exactly these values.',
    }),
    token_ttl_seconds: Type.Integer({
      description: 'How long the issued token and certificate are valid, in seconds.',
    }),
    enabled: Type.Boolean({ description: 'Whether tokens are accepted.' }),
    created_by: Type.String({ description: 'The id of the creator.' }),
    created_at: timestampText,
    updated_at: timestampText,
  }),
);
export type Federation = Static<typeof Federation>;

const connectionId = described('An AppConnection, by its number or its client id.', idParam);

const federationId = described('The number of a federation.', idParam);

const common = {
  ...ORDINARY,
  noun: 'federations',
  aboutNoun: {
    title: 'Federations',
    group: 'Machines',
    guide: ['federations'],
    description: 'Lets pipelines of CI systems act as an AppConnection, without a stored secret.',
  },
  credentials: ANY_TOKEN,
  resource: 'app-connection/{connection}',
  query: NONE,
  body: NONE,
} as const;

const ofConnection = { params: object({ connection: connectionId }) } as const;
const ofOne = { params: object({ connection: connectionId, federation_id: federationId }) } as const;
const RIGHTS = 'Requires `members:add` on the connection’s vaults.';

export const createFederation = endpoint({
  ...common,
  ...ofConnection,
  name: 'createFederation',
  tier: 'professional',
  method: 'POST',
  path: '/app-connections/{connection}/federations',
  summary: 'Let pipelines of a CI system act as an AppConnection',
  description: RIGHTS,
  permission: 'federations:create',
  rate: 'write',
  audit: 'federation_created',
  effect: 'change',
  body: object({ name: resourceName, provider, ...fields, subject_pattern: subjectPattern }),
  status: 201,
  output: Federation,
  errors: ['QUOTA_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS', 'VAULT_NOT_FOUND'],
});

export const listFederations = endpoint({
  ...common,
  ...ofConnection,
  name: 'listFederations',
  method: 'GET',
  path: '/app-connections/{connection}/federations',
  summary: 'List the federations of an AppConnection',
  description: 'Includes disabled federations.',
  permission: 'federations:list',
  rate: 'read',
  audit: 'federation_listed',
  effect: 'read',
  query: object(pageQuery),
  status: 200,
  output: object({ federations: Type.Array(Federation), next_cursor: nextCursor }),
  errors: ['NOT_FOUND'],
});

export const readFederation = endpoint({
  ...common,
  ...ofOne,
  name: 'readFederation',
  method: 'GET',
  path: '/app-connections/{connection}/federations/{federation_id}',
  summary: 'Read a federation',
  description: 'By its number.',
  permission: 'federations:read',
  rate: 'read',
  audit: 'federation_read',
  effect: 'read',
  status: 200,
  output: Federation,
  errors: ['NOT_FOUND'],
});

export const updateFederation = endpoint({
  ...common,
  ...ofOne,
  name: 'updateFederation',
  tier: 'professional',
  method: 'PUT',
  path: '/app-connections/{connection}/federations/{federation_id}',
  summary: 'Change a federation',
  description: `Omitted fields are unchanged; the provider cannot be changed. Tokens and certificates that it issued are revoked. ${RIGHTS}`,
  permission: 'federations:update',
  rate: 'write',
  audit: 'federation_updated',
  effect: 'change',
  body: object({
    name: Type.Optional(resourceName),
    provider: Type.Optional(provider),
    ...fields,
    subject_pattern: Type.Optional(subjectPattern),
  }),
  status: 200,
  output: Federation,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'VAULT_NOT_FOUND'],
});

export const deleteFederation = endpoint({
  ...common,
  ...ofOne,
  name: 'deleteFederation',
  method: 'DELETE',
  path: '/app-connections/{connection}/federations/{federation_id}',
  summary: 'Delete a federation',
  description: 'Stops exchanges, and revokes the tokens and certificates that it issued, at once.',
  permission: 'federations:delete',
  rate: 'write',
  audit: 'federation_deleted',
  effect: 'change',
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

export const exchangeToken = endpoint({
  ...common,
  ...ofConnection,
  name: 'exchangeFederatedToken',
  method: 'POST',
  path: '/app-connections/{connection}/federated-token',
  summary: 'Exchange a pipeline’s id_token for a certificate and a token',
  description:
    'Send the id_token in the body or as a bearer token; it must have been issued at most ten minutes ago. The connection is identified by its ' +
    'client id or by its number, which is unique in the installation. A token that is not accepted gets LOGIN_DENIED or JWKS_KEY_NOT_FOUND; the reason is in the ' +
    'audit log. With a DPoP header, the token is bound to that key; if the connection requires a certificate, to the one issued here.',
  credentials: 'public',
  tenant: NONE,
  region: 'local',
  permission: NONE,
  resource: NONE,
  rate: 'auth',
  audit: 'federation_exchanged',
  effect: 'change',
  body: object({
    id_token: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: TOKEN_LENGTH_MAX,
        description: 'The token of the pipeline. Required unless it is sent as a bearer token.',
      }),
    ),
  }),
  status: 200,
  output: object({
    certificate: Type.String({ description: 'A client certificate, in PEM.' }),
    private_key: Type.String({ description: 'Shown once; not stored.' }),
    ca_chain: Type.String({ description: 'The CA certificates that it chains to, in PEM.' }),
    client_id: Type.String({ description: 'The client id of the AppConnection.' }),
    access_token: Type.String({ description: 'Send it as a bearer token.' }),
    expires_at: timestampText,
  }),
  errors: ['LOGIN_DENIED', 'JWKS_KEY_NOT_FOUND', 'IP_NOT_ALLOWED', 'DPOP_REQUIRED', 'INVALID_DPOP_PROOF'],
});
