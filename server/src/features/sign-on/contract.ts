import Type, { type Static } from 'typebox';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/request/declaration.ts';
import { described, named } from '../../kernel/request/named-schemas.ts';
import {
  Deleted,
  lineOfText,
  NAME_PATTERN,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  oneOf,
  pageQuery,
  record,
  resourceName,
  timestampText,
} from '../../kernel/request/wire.ts';

/** Roles that a provider can give. An owner is made by an owner, so that no provider can take over a tenant. */
export const MAPPED_ROLES = ['admin', 'auditor', 'member'] as const;
export type MappedRole = (typeof MAPPED_ROLES)[number];

/** Per tenant, since each login with a password looks at all of them. */
export const PROVIDERS_MAX = 10;
const MAPPING_MAX = 100;
const SCOPES_MAX = 16;
const ISSUER_LENGTH_MAX = 512;
export const SCOPES_DEFAULT = ['openid', 'email', 'profile'];
export const GROUPS_CLAIM_DEFAULT = 'groups';

const mappedRole = named(
  'SsoRole',
  'A role that a provider can give. Only an owner can make an owner.',
  oneOf(MAPPED_ROLES),
);
const exact = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[\\u0021-\\u007e]+$', description });
/** A group of the provider is any line of text. */
const PROVIDER_GROUP = '^[^\\u0000-\\u001f\\u007f]{1,256}$';

const fields = {
  scopes: Type.Optional(
    Type.Array(exact(64, 'A scope.'), {
      maxItems: SCOPES_MAX,
      description: `Scopes to request; must contain openid. Default: ${SCOPES_DEFAULT.join(', ')}.`,
    }),
  ),
  groups_claim: Type.Optional(
    exact(128, `The claim that lists the groups of a person. Default: ${GROUPS_CLAIM_DEFAULT}.`),
  ),
  role_mapping: Type.Optional(
    record(PROVIDER_GROUP, mappedRole, {
      maxProperties: MAPPING_MAX,
      description: 'Group of the provider → role. Of several the highest counts: admin, auditor, member.',
    }),
  ),
  group_mapping: Type.Optional(
    record(PROVIDER_GROUP, Type.String({ pattern: NAME_PATTERN }), {
      maxProperties: MAPPING_MAX,
      description: 'Group of the provider → name of a group here. People join and leave these groups at each sign-in.',
    }),
  ),
  default_role: Type.Optional(
    nullable(mappedRole, 'The role of people whose groups give none; null refuses them. Default: null.'),
  ),
  required: Type.Optional(
    Type.Boolean({ description: 'If true, only owners can log in with a password. Default: false.' }),
  ),
  enabled: Type.Optional(Type.Boolean({ description: 'Whether people can sign in with it. Default: true.' })),
};
const issuer = exact(ISSUER_LENGTH_MAX, 'The issuer; the rest is found by OpenID Connect discovery.');
const clientId = exact(256, 'The client id that the provider gave this service.');
const clientSecret = Type.String({
  minLength: 1,
  maxLength: 1024,
  pattern: '^[\\u0021-\\u007e]+$',
  writeOnly: true,
  description: 'The client secret. Never returned. Without one, the client is public.',
});

export const SsoProvider = named(
  'SsoProvider',
  'An OpenID provider with which people of the tenant sign in.',
  object({
    name: Type.String({ description: 'Its name, which is part of the address of the sign-in.' }),
    issuer: Type.String({ description: 'The issuer of its tokens.' }),
    client_id: Type.String({ description: 'The client id of this service.' }),
    has_client_secret: Type.Boolean({ description: 'Whether a client secret is stored.' }),
    scopes: Type.Array(Type.String(), { description: 'Requested scopes.' }),
    groups_claim: Type.String({ description: 'The claim that lists the groups of a person.' }),
    role_mapping: Type.Record(Type.String(), mappedRole, { description: 'Group of the provider → role.' }),
    group_mapping: Type.Record(Type.String(), Type.String(), {
      description: 'Group of the provider → name of a group here.',
    }),
    default_role: nullable(mappedRole, 'The role of people whose groups give none; null refuses them.'),
    required: Type.Boolean({ description: 'Whether only owners can log in with a password.' }),
    enabled: Type.Boolean({ description: 'Whether people can sign in with it.' }),
    redirect_uri: Type.String({ description: 'The address to register with the provider.' }),
    created_by: Type.String({ description: 'The id of the creator.' }),
    created_at: timestampText,
    updated_at: timestampText,
  }),
);
export type SsoProvider = Static<typeof SsoProvider>;

const common = {
  noun: 'sign-on',
  nounDescription: 'Sign-in of people with the OpenID provider of their organization, and of their command lines.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  params: NONE,
  query: NONE,
  body: NONE,
} as const;

const ofOne = {
  resource: 'sso-provider/{name}',
  params: object({ name: described('The name of a provider.', resourceName) }),
} as const;

export const createProvider = endpoint({
  ...common,
  name: 'createSsoProvider',
  method: 'POST',
  path: '/auth/sso/providers',
  summary: 'Let people sign in with an OpenID provider',
  description:
    'Needs approval, because the provider decides who comes in and with which role. Register `redirect_uri` of the response with the provider.',
  permission: 'sso_providers:create',
  resource: 'sso-provider',
  rate: 'write',
  audit: 'sso_providers:create',
  effect: 'change',
  approval: 'rbac_change',
  body: objectWithExamples(
    [
      {
        name: 'okta',
        issuer: 'https://acme.okta.com',
        client_id: '0oa1b2c3',
        client_secret: 'from the provider'.replaceAll(' ', '-'),
        role_mapping: { 'Platform Admins': 'admin' },
        default_role: 'member',
      },
    ],
    {
      name: resourceName,
      issuer,
      client_id: clientId,
      client_secret: Type.Optional(clientSecret),
      ...fields,
    },
  ),
  status: 201,
  output: SsoProvider,
  errors: ['ALREADY_EXISTS', 'QUOTA_EXCEEDED', 'NOT_FOUND'],
});

export const listProviders = endpoint({
  ...common,
  name: 'listSsoProviders',
  method: 'GET',
  path: '/auth/sso/providers',
  summary: 'List the OpenID providers of the tenant',
  description: 'By name, including disabled ones.',
  permission: 'sso_providers:list',
  resource: 'sso-provider',
  rate: 'read',
  audit: 'sso_providers:list',
  effect: 'read',
  query: object(pageQuery),
  status: 200,
  output: object({ providers: Type.Array(SsoProvider), next_cursor: nextCursor }),
  errors: [],
});

export const readProvider = endpoint({
  ...common,
  ...ofOne,
  name: 'readSsoProvider',
  method: 'GET',
  path: '/auth/sso/providers/{name}',
  summary: 'Read an OpenID provider',
  description: 'Without its client secret.',
  permission: 'sso_providers:read',
  rate: 'read',
  audit: 'sso_providers:read',
  effect: 'read',
  status: 200,
  output: SsoProvider,
  errors: ['NOT_FOUND'],
});

export const updateProvider = endpoint({
  ...common,
  ...ofOne,
  name: 'updateSsoProvider',
  method: 'PATCH',
  path: '/auth/sso/providers/{name}',
  summary: 'Change an OpenID provider',
  description:
    'Omitted fields are unchanged. A new issuer requires the client secret again. Needs approval. Sign-ins in progress fail; sessions stay valid.',
  permission: 'sso_providers:update',
  rate: 'write',
  audit: 'sso_providers:update',
  effect: 'change',
  approval: 'rbac_change',
  body: objectWithExamples([{ role_mapping: { 'Platform Admins': 'admin' }, default_role: 'member' }], {
    issuer: Type.Optional(issuer),
    client_id: Type.Optional(clientId),
    client_secret: Type.Optional(nullable(clientSecret, 'The new client secret; null removes it.')),
    ...fields,
  }),
  status: 200,
  output: SsoProvider,
  errors: ['NOT_FOUND'],
});

export const deleteProvider = endpoint({
  ...common,
  ...ofOne,
  name: 'deleteSsoProvider',
  method: 'DELETE',
  path: '/auth/sso/providers/{name}',
  summary: 'Delete an OpenID provider',
  description:
    'Needs approval. Nobody can sign in with it any more; accounts and sessions stay. If the provider is added again, its people have their accounts again.',
  permission: 'sso_providers:delete',
  rate: 'write',
  audit: 'sso_providers:delete',
  effect: 'change',
  approval: 'rbac_change',
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

/** What a form of ours sends, and so does a client that has no browser. */
const userCode = lineOfText({ minLength: 8, maxLength: 16 }, 'The code that the command line shows, in any case.');
const tenantName = described('The tenant. Default: the tenant of the operator.', resourceName);

const publicPage = {
  ...common,
  credentials: 'public',
  tenant: NONE,
  region: 'local',
  permission: NONE,
  resource: NONE,
  rate: 'auth',
  status: 200,
  output: NONE,
  raw: 'text/html; charset=utf-8',
} as const;

const providerParam = Type.String({
  pattern: NAME_PATTERN,
  description: 'The name of a provider.',
  examples: ['okta'],
});
const ofProvider = { params: object({ provider: providerParam }) } as const;

export const readSignIn = endpoint({
  ...publicPage,
  ...ofProvider,
  name: 'readSsoSignIn',
  method: 'GET',
  path: '/auth/sso/{provider}',
  summary: 'The page on which a person signs in for their command line',
  description:
    'Asks for the code that the command line shows. The page is the same whether or not there is such a provider.',
  audit: 'auth:sso_page',
  effect: 'read',
  query: object({ tenant: Type.Optional(tenantName) }),
  errors: [],
});

export const beginSignIn = endpoint({
  ...publicPage,
  ...ofProvider,
  name: 'beginSsoSignIn',
  method: 'POST',
  path: '/auth/sso/{provider}',
  summary: 'Begin a sign-in at an OpenID provider',
  description:
    'Answers a page that leads to the provider, and a cookie that binds the sign-in to this browser for ten minutes. The body is JSON or a form.',
  audit: 'auth:sso_begin',
  effect: 'change',
  form: true,
  body: objectWithExamples([{ user_code: 'BCDF-GHJK' }], { user_code: userCode, tenant: Type.Optional(tenantName) }),
  errors: ['LOGIN_DENIED'],
});

const authorizationCode = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: 'From the provider.',
  examples: ['SplxlOBeZQQYbYS6WxSbIA'],
});
const stateText = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'From the provider, as it was sent there.',
  examples: ['af0ifjsldkj'],
});
const issText = Type.String({ minLength: 1, maxLength: ISSUER_LENGTH_MAX, description: 'The issuer (RFC 9207).' });

export const readCallback = endpoint({
  ...publicPage,
  name: 'readSsoCallback',
  method: 'GET',
  path: '/auth/sso/callback',
  summary: 'The page to which the provider sends a person back',
  description: 'Asks whether the command line with the shown code is theirs. Nothing happens until they confirm it.',
  audit: 'auth:sso_callback',
  effect: 'read',
  // Providers add parameters of their own, such as session_state.
  query: Type.Object(
    {
      code: Type.Optional(authorizationCode),
      state: Type.Optional(stateText),
      iss: Type.Optional(issText),
      error: Type.Optional(Type.String({ maxLength: 256, description: 'Why the provider refused.' })),
    },
    { additionalProperties: true },
  ),
  errors: ['LOGIN_DENIED'],
});

export const finishSignIn = endpoint({
  ...publicPage,
  name: 'finishSsoSignIn',
  method: 'POST',
  path: '/auth/sso/callback',
  summary: 'Finish a sign-in at an OpenID provider',
  description:
    'Exchanges the code, verifies the id_token, and gives the command line a session of this person. The account is found by issuer and subject, never by e-mail address; if there is none, it is created. Role and groups follow the provider. The body is JSON or a form.',
  audit: 'auth:sso_sign_in',
  effect: 'change',
  form: true,
  body: object({
    code: authorizationCode,
    state: stateText,
    iss: Type.Optional(issText),
  }),
  errors: ['LOGIN_DENIED', 'QUOTA_EXCEEDED'],
});

const deviceCode = Type.String({
  minLength: 1,
  maxLength: 128,
  writeOnly: true,
  description: 'The secret of the command line.',
  examples: ['cv_dev_7Qm2xV9kLr4Tn8'],
});

const publicCall = { ...publicPage, raw: NONE } as const;

export const startDevice = endpoint({
  ...publicCall,
  name: 'startDeviceLogin',
  method: 'POST',
  path: '/auth/device',
  summary: 'Begin the login of a command line',
  description:
    'A person then confirms `user_code`: at `verification_uri` with their OpenID provider, or with POST /auth/device/approve. Both codes are valid for ten minutes.',
  audit: 'auth:device_start',
  effect: 'change',
  body: objectWithExamples([{ client: 'cli', provider: 'okta', tenant: 'acme' }], {
    client: oneOf(['cli'], 'The kind of client.'),
    provider: Type.Optional(described('The OpenID provider to sign in with.', resourceName)),
    tenant: Type.Optional(tenantName),
  }),
  output: object({
    device_code: Type.String({ description: 'The secret of the command line. Returned once.' }),
    user_code: Type.String({ description: 'The code to show to the person.' }),
    verification_uri: nullable(Type.String(), 'The page to open; null without a provider.'),
    expires_in: Type.Integer({ description: 'How long both are valid, in seconds.' }),
    interval: Type.Integer({ description: 'How long to wait between polls, in seconds.' }),
  }),
  errors: [],
});

export const pollDevice = endpoint({
  ...publicCall,
  name: 'pollDeviceLogin',
  method: 'POST',
  path: '/auth/device/token',
  summary: 'Ask whether the login of a command line is confirmed',
  description:
    'Returns `pending` until it is, then a session, once. A poll before the interval has passed gets RATE_LIMIT_EXCEEDED; a code that was refused, was used or has expired gets LOGIN_DENIED.',
  audit: 'auth:device_token',
  effect: 'change',
  body: object({ device_code: deviceCode }),
  output: object({
    status: oneOf(['pending', 'approved'], 'Whether it is confirmed.'),
    token: Type.Optional(Type.String({ description: 'The session token. Returned once.' })),
    expires_at: Type.Optional(timestampText),
  }),
  errors: ['LOGIN_DENIED'],
});

export const approveDevice = endpoint({
  ...common,
  name: 'approveDeviceLogin',
  method: 'POST',
  path: '/auth/device/approve',
  summary: 'Confirm or refuse the login of a command line',
  description:
    'With the code that it shows. The command line gets a session of yours, so confirm only a code that you requested yourself. Wrong codes are slowed down.',
  credentials: ['session'],
  region: 'local',
  permission: NONE,
  resource: NONE,
  rate: 'write',
  audit: 'auth:device_approve',
  effect: 'change',
  body: objectWithExamples([{ user_code: 'BCDF-GHJK' }], {
    user_code: userCode,
    approve: Type.Optional(Type.Boolean({ description: 'False refuses it. Default: true.' })),
  }),
  status: 200,
  output: object({ approved: Type.Boolean({ description: 'Whether the command line gets a session.' }) }),
  errors: ['NOT_FOUND'],
});
