import Type from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { TOKEN_LENGTH_MAX } from '../../kernel/external-identity/external-jwt.ts';
import { described } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  idParam,
  lineOfText,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  oneOf,
  pageQuery,
  resourceName,
  timestampText,
} from '../../kernel/wire/wire.ts';
import { Session } from '../sessions/index.ts';
import {
  BegunAtProvider,
  browserAnswer,
  clientId,
  clientSecret,
  fields,
  issuer,
  providerAnswer,
  providerParam,
  SsoProvider,
  subjectClaim,
} from './schemas.ts';

const common = {
  ...ORDINARY,
  noun: 'sign-on',
  aboutNoun: {
    title: 'Sign-on',
    group: 'People',
    guide: ['sign-on'],
    description: 'Sign-in of people with the OpenID provider of their organization, and of their command lines.',
  },
  credentials: ANY_TOKEN,
  region: 'local',
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
      subject_claim: Type.Optional(described('Cannot be changed later. Default: sub.', subjectClaim)),
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
    'Answers a page that leads to the provider, and a cookie that binds the sign-in to this browser for ten minutes. The body is JSON, or a form of a page of this service.',
  audit: 'auth:sso_begin',
  effect: 'change',
  form: 'page',
  body: objectWithExamples([{ user_code: 'BCDF-GHJK' }], { user_code: userCode, tenant: Type.Optional(tenantName) }),
  errors: ['LOGIN_DENIED'],
});

const ofCallback = {
  params: object({ tenant_id: described('The id of a tenant.', idParam), provider: providerParam }),
} as const;

export const readCallback = endpoint({
  ...publicPage,
  ...ofCallback,
  name: 'readSsoCallback',
  method: 'GET',
  path: '/auth/sso/callback/{tenant_id}/{provider}',
  summary: 'The page to which the provider sends a person back',
  description:
    'Every provider has an address of its own, and an answer at that of another one is refused. Asks for the code of the command line once more. Nothing happens until they type it.',
  audit: 'auth:sso_callback',
  effect: 'read',
  // Providers add parameters of their own, such as session_state.
  query: Type.Object(
    {
      code: Type.Optional(providerAnswer.code),
      state: Type.Optional(providerAnswer.state),
      iss: providerAnswer.iss,
      error: Type.Optional(Type.String({ maxLength: 256, description: 'Why the provider refused.' })),
    },
    { additionalProperties: true },
  ),
  errors: ['LOGIN_DENIED'],
});

export const finishSignIn = endpoint({
  ...publicPage,
  ...ofCallback,
  name: 'finishSsoSignIn',
  method: 'POST',
  path: '/auth/sso/callback/{tenant_id}/{provider}',
  summary: 'Finish a sign-in at an OpenID provider',
  description:
    'Exchanges the code, verifies the id_token, and gives the command line with this code, which the person types again, a session of theirs. The account is found by issuer and subject, never by e-mail address; if there is none, it is created. Role and groups follow the provider. The body is JSON, or a form of a page of this service.',
  audit: 'auth:sso_sign_in',
  effect: 'change',
  form: 'page',
  body: object({ ...providerAnswer, user_code: userCode }),
  errors: ['LOGIN_DENIED', 'QUOTA_EXCEEDED'],
});

export const beginBrowserSignIn = endpoint({
  ...publicPage,
  ...ofProvider,
  name: 'beginBrowserSignIn',
  method: 'POST',
  path: '/auth/sso/{provider}/browser',
  summary: 'Begin a sign-in of this browser at an OpenID provider',
  description:
    'Returns the address of the provider to open, and sets a cookie that binds the sign-in to this browser for ten minutes. The provider sends the browser back to the console, which finishes it.',
  audit: 'auth:sso_begin',
  effect: 'change',
  body: objectWithExamples([{ tenant: 'acme' }], { tenant: Type.Optional(tenantName) }),
  raw: NONE,
  output: BegunAtProvider,
  errors: ['LOGIN_DENIED'],
});

export const finishBrowserSignIn = endpoint({
  ...publicPage,
  name: 'finishBrowserSignIn',
  session: 'begins',
  method: 'POST',
  path: '/auth/sso/session',
  summary: 'Finish the sign-in of this browser',
  description:
    'With what the provider sent, from the browser and the page that began the sign-in. Returns a session, as a login does. Account, role and groups follow the provider.',
  audit: 'auth:sso_sign_in',
  effect: 'change',
  body: object(browserAnswer),
  raw: NONE,
  output: Session,
  errors: ['LOGIN_DENIED', 'QUOTA_EXCEEDED'],
});

export const readSignOut = endpoint({
  ...common,
  name: 'readSsoSignOut',
  beforeEnrolment: true,
  method: 'GET',
  path: '/auth/sso/sign-out',
  summary: 'Read where to sign out at the OpenID provider too',
  description:
    'For a session that began at a provider. Log out here with POST /auth/logout, then open `url` in the browser. This ends nothing itself.',
  credentials: ['session'],
  permission: NONE,
  resource: NONE,
  rate: 'read',
  audit: 'auth:sso_sign_out',
  effect: 'read',
  status: 200,
  output: object({
    provider: nullable(Type.String(), 'The provider at which this session began; null if it began without one.'),
    url: nullable(Type.String(), 'The page of the provider; null if it has none or cannot be reached.'),
  }),
  errors: [],
});

export const backchannelLogout = endpoint({
  ...publicPage,
  ...ofProvider,
  name: 'backchannelLogout',
  method: 'POST',
  path: '/auth/sso/{provider}/backchannel-logout',
  summary: 'End the sessions that began at an OpenID provider',
  description:
    'For the provider (OpenID Connect Back-Channel Logout 1.0). Sessions of the person that began at it end at once; others and tokens stay. Every refusal is 400. The body is JSON or a form.',
  audit: 'auth:sso_backchannel_logout',
  effect: 'change',
  form: 'server',
  query: object({ tenant: Type.Optional(tenantName) }),
  // The standard requires that other fields are ignored, and that a missing token gets 400.
  body: Type.Object(
    {
      logout_token: Type.Optional(
        Type.String({
          maxLength: TOKEN_LENGTH_MAX,
          writeOnly: true,
          description: 'Signed by the provider.',
        }),
      ),
    },
    { additionalProperties: true, examples: [{ logout_token: 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln' }] },
  ),
  raw: NONE,
  output: object({ sessions_ended: Type.Integer({ description: 'How many sessions ended.' }) }),
  errors: [],
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
  session: 'begins',
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
    'With the code that it shows. The command line gets a session of yours, so confirm only a code that you requested yourself. Confirming requires a proof that is newer than the code: your second factor or, without one, a sign-in. The command line gets no session if this one ends first, or all your sessions do, and its session ends when you end this one. A session that a device code opened cannot confirm another one. Wrong codes are slowed down.',
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
  errors: ['NOT_FOUND', 'MFA_REQUIRED'],
});
