import Type, { type Static } from 'typebox';
import { IpAllowlist, Scope } from '../../kernel/authz/ceiling.ts';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
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

export const Token = object({
  id: id('token'),
  kind: oneOf(['pat', 'session']),
  name: Type.String(),
  user_id: id('user'),
  scope: nullable(Scope),
  ip_allowlist: nullable(IpAllowlist),
  dpop_jkt: nullable(Type.String({ description: 'The key it is bound to.' })),
  status: oneOf(['active', 'expired', 'revoked']),
  created_at: timestampText,
  expires_at: timestampText,
  revoked_at: nullable(timestampText),
});
export type Token = Static<typeof Token>;

const rateLimit = Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000_000 }));

const common = {
  noun: 'tokens',
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
    rate_limits: Type.Optional(object({ read: rateLimit, write: rateLimit, rotate: rateLimit, aggregate: rateLimit })),
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
  permission: 'tokens:list',
  resource: 'loaded',
  loads: ['self/tokens', 'user/{user_id}/tokens'],
  rate: 'read',
  audit: 'tokens:list',
  effect: 'read',
  params: NONE,
  query: object({ ...pageQuery, user_id: Type.Optional(idParam) }),
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
  permission: 'tokens:read',
  resource: 'loaded',
  loads: ['self/tokens/{token_id}', 'token/{token_id}'],
  rate: 'read',
  audit: 'tokens:read',
  effect: 'read',
  params: object({ token_id: idParam }),
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
  params: object({ token_id: idParam }),
  query: NONE,
  body: NONE,
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

export const readJwks = endpoint({
  ...common,
  name: 'readJwks',
  method: 'GET',
  path: '/.well-known/jwks.json',
  summary: 'The public keys that verify access tokens',
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
    keys: Type.Array(
      object({
        kty: Type.String(),
        crv: Type.String(),
        x: Type.String(),
        kid: Type.String(),
        alg: Type.String(),
        use: Type.String(),
      }),
    ),
  }),
  errors: [],
});
