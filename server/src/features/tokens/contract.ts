import Type, { type Static } from 'typebox';
import { IpAllowlist, Scope } from '../../kernel/authz/ceiling.ts';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { RateLimits } from '../../kernel/limits/limit-schemas.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
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
} from '../../kernel/wire/wire.ts';

export const PAT_TTL_DAYS_MAX = 365;
export const PAT_TTL_DAYS_DEFAULT = 90;

export const tokenKind = named(
  'TokenKind',
  'pat: a personal access token. session: created by a login.',
  oneOf(['pat', 'session']),
);

export const Token = named(
  'Token',
  'Description of a token, without the token itself.',
  object({
    id: id('token'),
    kind: tokenKind,
    name: Type.String({ description: 'Purpose of the token.' }),
    user_id: id('user'),
    parent_id: nullable(
      id('token'),
      'The session or token that it was created with; of a session, the one that confirmed its device code. Null if there is none, or it is older than this field.',
    ),
    ends_with_sessions: Type.Boolean({
      description:
        'Whether it ends when that session is ended, when all sessions are, and when the password changes. A token always ends with the token that created it.',
    }),
    scope: nullable(
      Scope,
      'What it may do at most: its own scope, within those of the tokens that it was created with.',
    ),
    ip_allowlist: nullable(
      Type.Array(Type.String()),
      'Where it may be used, in the same way: addresses and ranges; null for anywhere.',
    ),
    dpop_jkt: nullable(Type.String({ description: 'Thumbprint of the DPoP key it is bound to.' })),
    status: named('TokenStatus', 'Whether it can still be used, or why not.', oneOf(['active', 'expired', 'revoked'])),
    created_at: timestampText,
    expires_at: timestampText,
    revoked_at: nullable(timestampText),
  }),
);
export type Token = Static<typeof Token>;

const tokenId = described('The id of a token, `token_…`.', idParam);

const common = {
  ...ORDINARY,
  noun: 'tokens',
  aboutNoun: {
    title: 'Tokens',
    group: 'People',
    guide: ['tokens'],
    description: 'Personal access tokens and sessions, and the keys that verify them.',
  },
  credentials: ANY_TOKEN,
  region: 'local',
} as const;

export const createToken = endpoint({
  ...common,
  name: 'createToken',
  method: 'POST',
  path: '/auth/tokens',
  summary: 'Create a personal access token',
  description:
    'The token is returned only in this response. At each use it has the rights you have at that time, limited by its scope. A session needs a fresh proof for it: your second factor shown within the last 15 minutes or, without one, a sign-in within that time; a session of a device code shows a second factor first (POST /auth/step-up). The token outlives a logout and the expiry of the session, but ends when you end that session, all your sessions, or change your password, unless `ends_with_sessions` is false. With a token no proof is needed: the new one is limited by it in what it may do, from where and until when, and ends with it.',
  permission: 'tokens:create',
  resource: 'self/tokens',
  rate: 'write',
  audit: 'tokens:create',
  effect: 'change',
  params: NONE,
  query: NONE,
  body: object({
    name: lineOfText({ minLength: 1, maxLength: 128 }, 'Purpose of the token.'),
    ttl_days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: PAT_TTL_DAYS_MAX,
        description: `Lifetime in days; default: ${PAT_TTL_DAYS_DEFAULT}.`,
      }),
    ),
    scope: Type.Optional(Scope),
    ip_allowlist: Type.Optional(IpAllowlist),
    dpop_jkt: Type.Optional(dpopThumbprint),
    rate_limits: Type.Optional(RateLimits),
    ends_with_sessions: Type.Optional(
      Type.Boolean({
        description:
          'False for a token that goes on when you end your sessions or change your password. Only with a session. Default: true.',
      }),
    ),
  }),
  status: 201,
  output: object({ ...Token.properties, token: Type.String({ description: 'Returned once.' }) }),
  errors: ['QUOTA_EXCEEDED', 'MFA_REQUIRED'],
});

export const listTokens = endpoint({
  ...common,
  name: 'listTokens',
  method: 'GET',
  path: '/auth/tokens',
  summary: 'List your tokens, or those of another user',
  description: 'Does not include the tokens themselves, which are returned only once, when they are created.',
  permission: 'tokens:list',
  resource: 'loaded',
  loads: ['self/tokens', 'user/{user_id}/tokens'],
  rate: 'read',
  audit: 'tokens:list',
  effect: 'read',
  params: NONE,
  query: object({
    ...pageQuery,
    user_id: Type.Optional(described('The user whose tokens are listed; default: you.', idParam)),
  }),
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
  description: 'Does not include the token itself, which was returned only once, when it was created.',
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
  summary: 'Revoke a token, and every token created with it',
  description:
    'Takes effect with the next request, on every node. A session takes the tokens along that were created with it, unless they go on without sessions.',
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
    kid: Type.String({ description: 'The key id (`kid`) in tokens.' }),
    alg: Type.String({ description: 'The algorithm of the signatures.' }),
    use: Type.String({ description: 'The use of the key: signatures.' }),
  }),
);

export const readJwks = endpoint({
  ...common,
  name: 'readJwks',
  method: 'GET',
  path: '/.well-known/jwks.json',
  summary: 'The public keys that verify access tokens',
  description: 'A JSON Web Key Set (RFC 7517). During a rotation it contains both the old and the new key.',
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
