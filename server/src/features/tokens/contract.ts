import Type, { type Static } from 'typebox';
import { IpAllowlist, Scope } from '../../kernel/authz/ceiling.ts';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { RateLimits } from '../../kernel/limits/limit-schemas.ts';
import { described, named } from '../../kernel/named-schemas.ts';
import {
  Deleted,
  dpopThumbprint,
  id,
  idParam,
  lineOfText,
  nextCursor,
  nullable,
  object,
  oneOf,
  pageQuery,
  timestampText,
} from '../../kernel/wire.ts';

export const PAT_TTL_DAYS_MAX = 365;
export const PAT_TTL_DAYS_DEFAULT = 90;

export const Token = named(
  'Token',
  'A token, without the token itself.',
  object({
    id: id('token'),
    kind: named('TokenKind', 'pat: a personal access token. session: of a login.', oneOf(['pat', 'session'])),
    name: Type.String({ description: 'What it is for.' }),
    user_id: id('user'),
    scope: nullable(Scope),
    ip_allowlist: nullable(IpAllowlist),
    dpop_jkt: nullable(Type.String({ description: 'The key it is bound to.' })),
    status: named('TokenStatus', 'Whether it can still be used.', oneOf(['active', 'expired', 'revoked'])),
    created_at: timestampText,
    expires_at: timestampText,
    revoked_at: nullable(timestampText),
  }),
);
export type Token = Static<typeof Token>;

const tokenId = described('The id of a token, `token_…`.', idParam);

const common = {
  noun: 'tokens',
  nounDescription: 'Personal access tokens and sessions, and the keys that verify them.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
} as const;

export const createToken = endpoint({
  ...common,
  name: 'createToken',
  method: 'POST',
  path: '/auth/tokens',
  summary: 'Make a personal access token',
  description:
    'The token is shown in this answer and never again. It can do what you can do at the moment it is used, within its scope, and never ' +
    'more; made with another token, it also stays within that one and ends with it.',
  permission: 'tokens:create',
  resource: 'self/tokens',
  rate: 'write',
  audit: 'tokens:create',
  effect: 'change',
  params: NONE,
  query: NONE,
  body: object({
    name: lineOfText({ minLength: 1, maxLength: 128 }, 'What it is for.'),
    ttl_days: Type.Optional(
      Type.Integer({ minimum: 1, maximum: PAT_TTL_DAYS_MAX, description: `${PAT_TTL_DAYS_DEFAULT} unless given.` }),
    ),
    scope: Type.Optional(Scope),
    ip_allowlist: Type.Optional(IpAllowlist),
    dpop_jkt: Type.Optional(dpopThumbprint),
    rate_limits: Type.Optional(RateLimits),
  }),
  status: 201,
  output: object({ ...Token.properties, token: Type.String({ description: 'Shown once.' }) }),
  errors: ['QUOTA_EXCEEDED'],
});

export const listTokens = endpoint({
  ...common,
  name: 'listTokens',
  method: 'GET',
  path: '/auth/tokens',
  summary: 'List your tokens, or another person’s',
  description: 'Without the tokens themselves, which are shown once, when they are made.',
  permission: 'tokens:list',
  resource: 'loaded',
  loads: ['self/tokens', 'user/{user_id}/tokens'],
  rate: 'read',
  audit: 'tokens:list',
  effect: 'read',
  params: NONE,
  query: object({ ...pageQuery, user_id: Type.Optional(described('Of this person; your own unless given.', idParam)) }),
  body: NONE,
  status: 200,
  output: object({ tokens: Type.Array(Token), next_cursor: nextCursor }),
  errors: [],
});

export const readToken = endpoint({
  ...common,
  name: 'readToken',
  method: 'GET',
  path: '/auth/tokens/{token_id}',
  summary: 'Read one token’s description',
  description: 'Without the token itself, which was shown once, when it was made.',
  permission: 'tokens:read',
  resource: 'loaded',
  loads: ['self/tokens/{token_id}', 'token/{token_id}'],
  rate: 'read',
  audit: 'tokens:read',
  effect: 'read',
  params: object({ token_id: tokenId }),
  query: NONE,
  body: NONE,
  status: 200,
  output: Token,
  errors: ['NOT_FOUND'],
});

export const revokeToken = endpoint({
  ...common,
  name: 'revokeToken',
  method: 'DELETE',
  path: '/auth/tokens/{token_id}',
  summary: 'Revoke a token, and every token made with it',
  description: 'Takes effect on the next request, on every node.',
  permission: 'tokens:delete',
  resource: 'loaded',
  loads: ['self/tokens/{token_id}', 'token/{token_id}'],
  rate: 'write',
  audit: 'tokens:delete',
  effect: 'change',
  params: object({ token_id: tokenId }),
  query: NONE,
  body: NONE,
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

const JsonWebKey = named(
  'JsonWebKey',
  'A public key that verifies access tokens (RFC 7517).',
  object({
    kty: Type.String({ description: 'The kind of key.' }),
    crv: Type.String({ description: 'The curve.' }),
    x: Type.String({ description: 'The key, in base64url.' }),
    kid: Type.String({ description: 'The id that tokens name it by.' }),
    alg: Type.String({ description: 'The algorithm of the signatures.' }),
    use: Type.String({ description: 'What it is for.' }),
  }),
);

export const readJwks = endpoint({
  ...common,
  name: 'readJwks',
  method: 'GET',
  path: '/.well-known/jwks.json',
  summary: 'The public keys that verify access tokens',
  description: 'A JSON Web Key Set (RFC 7517). During a rotation it has both the old key and the new one.',
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  rate: 'none',
  audit: NONE,
  effect: 'read',
  params: NONE,
  query: NONE,
  body: NONE,
  status: 200,
  output: object({
    keys: Type.Array(JsonWebKey),
  }),
  errors: [],
});
