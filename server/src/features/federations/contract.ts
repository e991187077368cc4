import Type, { type Static } from 'typebox';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { described, named } from '../../kernel/named-schemas.ts';
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
} from '../../kernel/wire.ts';

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
  'The CI system. For github, gitlab and bitbucket what is known of them is filled in.',
  oneOf(PROVIDERS),
);
const claimValue = Type.Union([Type.String({ maxLength: 512 }), Type.Integer(), Type.Boolean()]);
const claims = record('^[A-Za-z0-9_.:/-]{1,128}$', claimValue, {
  maxProperties: CLAIMS_MAX,
  description: 'Claims that the token must have, with exactly these values.',
});
const ttl = Type.Integer({
  minimum: TTL_SECONDS_MIN,
  maximum: TTL_SECONDS_MAX,
  description: `How long what is issued lives; ${TTL_SECONDS_DEFAULT} unless given.`,
});
const fields = {
  issuer: Type.Optional(exact(512, 'The `iss` of its tokens, exactly; for github and gitlab their own unless given.')),
  jwks_url: Type.Optional(nullable(exact(512, 'Where its keys are; where the provider has them, unless given.'))),
  audience: Type.Optional(nullable(exact(512, 'The only `aud` accepted; the service’s own unless given.'))),
  claims: Type.Optional(claims),
  token_ttl_seconds: Type.Optional(ttl),
  enabled: Type.Optional(Type.Boolean({ description: 'True unless given.' })),
};
const subjectPattern = exact(
  256,
  'What the `sub` must be: `*` stays between `:` and `/`, `**` crosses them. Whole and case-sensitive; no wildcard in the part that names the owner.',
);
export const DEFAULTS = { token_ttl_seconds: TTL_SECONDS_DEFAULT, enabled: true } as const;

export const Federation = named(
  'Federation',
  'Lets pipelines of a CI system act as an AppConnection.',
  object({
    id: Type.Integer({ description: 'Its number.' }),
    app_connection_id: Type.Integer({ description: 'The number of the AppConnection.' }),
    name: Type.String({ description: 'Its name.' }),
    provider,
    issuer: Type.String({ description: 'The `iss` of its tokens, exactly.' }),
    jwks_url: nullable(Type.String({ description: 'Null: by discovery.' })),
    audience: Type.String({ description: 'The only `aud` accepted.' }),
    subject_pattern: Type.String({ description: 'What the `sub` must be.' }),
    claims: Type.Record(Type.String(), claimValue, {
      description: 'Claims that the token must have, with exactly these values.',
    }),
    token_ttl_seconds: Type.Integer({ description: 'How long what is issued lives.' }),
    enabled: Type.Boolean({ description: 'Whether it lets anybody in.' }),
    created_by: Type.String({ description: 'Who made it.' }),
    created_at: timestampText,
    updated_at: timestampText,
  }),
);
export type Federation = Static<typeof Federation>;

const connectionId = described('An AppConnection, by its number or its client id.', idParam);

const federationId = described('The number of a federation.', idParam);

const common = {
  noun: 'federations',
  nounDescription: 'Pipelines of CI systems act as an AppConnection, without a stored secret.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  resource: 'app-connection/{connection}',
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  query: NONE,
  body: NONE,
} as const;

const ofConnection = { params: object({ connection: connectionId }) } as const;
const ofOne = { params: object({ connection: connectionId, federation_id: federationId }) } as const;
const RIGHTS = 'It takes the right to add members to the connection’s vaults.';

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
  description: 'Those that are not enabled too.',
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
  description: `What you leave out stays as it is. The provider never changes. Tokens that were issued by it before end. ${RIGHTS}`,
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
  description: 'Exchanges by it, and tokens that were issued by it, end at once.',
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
    'The id_token is in the body or sent as a bearer token, and was issued no more than ten minutes ago. The connection is named by its ' +
    'client id; a number is one of the tenant that runs the installation. Whatever is wrong, the answer is the same; the reason is in the ' +
    'audit log. With a DPoP header the token is bound to that key; where the connection asks for a certificate, to the one issued here.',
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
        description: 'The token of the pipeline, unless it is sent as a bearer token.',
      }),
    ),
  }),
  status: 200,
  output: object({
    certificate: Type.String({ description: 'A client certificate, in PEM.' }),
    private_key: Type.String({ description: 'Shown once, kept nowhere.' }),
    ca_chain: Type.String({ description: 'What it chains to, in PEM.' }),
    client_id: Type.String({ description: 'The client id of the AppConnection.' }),
    access_token: Type.String({ description: 'Send it as a bearer token.' }),
    expires_at: timestampText,
  }),
  errors: ['LOGIN_DENIED', 'JWKS_KEY_NOT_FOUND', 'IP_NOT_ALLOWED', 'DPOP_REQUIRED', 'INVALID_DPOP_PROOF'],
});
