import Type from 'typebox';
import { environmentText } from '../../kernel/authz/environment.ts';
import { RoleName } from '../../kernel/authz/roles.ts';

import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  emailText,
  id,
  idParam,
  newPassword,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  oneOf,
  PASSWORD_LENGTH_MAX,
  pageQuery,
  resourceName,
  timestampText,
} from '../../kernel/wire/wire.ts';
import { ContinuedSession, otpText, PasskeyAssertion, PasskeyRequestOptions } from '../mfa/index.ts';

import { keepTokens, Me, OwnSession } from './schemas.ts';

const INVITATION_LENGTH_MAX = 128;
const invitationToken = Type.String({
  minLength: 1,
  maxLength: INVITATION_LENGTH_MAX,
  writeOnly: true,
  description: 'The token of the invitation.',
  examples: ['cv_inv_7Qm2xV9kLr4Tn8'],
});
const anyPassword = Type.String({
  minLength: 1,
  maxLength: PASSWORD_LENGTH_MAX,
  description: 'The current password.',
});

const common = {
  noun: 'sessions',
  aboutNoun: {
    title: 'Sessions',
    group: 'People',
    guide: ['tokens', 'passkeys', 'invitations', 'lost-access'],
    description: 'Login, logout and the current identity.',
  },
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  params: NONE,
  query: NONE,
} as const;

export const Session = object({
  token: Type.String({ description: 'Returned once.' }),
  token_id: id('token'),
  expires_at: timestampText,
  user_id: id('user'),
  tenant_id: id('tenant'),
});

export const login = endpoint({
  ...common,
  name: 'login',
  session: 'begins',
  method: 'POST',
  path: '/auth/login',
  summary: 'Log in with e-mail address and password',
  description:
    'Returns a session token that is valid for 12 hours. For an account with a second factor, MFA_REQUIRED is returned until `otp` is sent too; `details.methods` then says which factors there are. Neither the response nor its timing reveals whether an account exists.',
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  rate: 'auth',
  audit: 'auth:login',
  effect: 'change',
  body: object({
    email: emailText,
    password: anyPassword,
    otp: Type.Optional(otpText),
    tenant: Type.Optional(resourceName),
  }),
  status: 200,
  output: Session,
  errors: ['LOGIN_DENIED', 'MFA_REQUIRED'],
});

export const passkeyLoginOptions = endpoint({
  ...common,
  name: 'passkeyLoginOptions',
  method: 'POST',
  path: '/auth/passkeys/options',
  summary: 'Start signing in with a passkey',
  description:
    'The same for everybody: the browser offers the passkeys it has for this service. Give `options` to it (`startAuthentication({ optionsJSON: options })` of @simplewebauthn/browser) and send its answer to POST /auth/passkeys/login within five minutes.',
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  rate: 'auth',
  audit: NONE,
  effect: 'read',
  body: NONE,
  status: 200,
  output: object({ options: PasskeyRequestOptions, expires_at: timestampText }),
  errors: ['PASSKEYS_DISABLED'],
});

export const passkeyLogin = endpoint({
  ...common,
  name: 'passkeyLogin',
  session: 'begins',
  method: 'POST',
  path: '/auth/passkeys/login',
  summary: 'Sign in with the answer of a passkey',
  description:
    'Returns the same as a login, with a second factor shown: the authenticator has verified you. An unknown passkey gets the same response as a wrong one.',
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  rate: 'auth',
  audit: 'auth:passkey_login',
  effect: 'change',
  body: object({ response: PasskeyAssertion }),
  status: 200,
  output: Session,
  errors: ['LOGIN_DENIED', 'PASSKEYS_DISABLED'],
});

export const readInvite = endpoint({
  ...common,
  name: 'readInvite',
  method: 'POST',
  path: '/auth/read-invite',
  summary: 'Show what an invitation is for',
  description:
    'For whoever holds its token, before they accept it. It changes nothing, and refuses what POST /auth/accept-invite would refuse, with the same response.',
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  rate: 'auth',
  audit: 'auth:read_invite',
  effect: 'read',
  body: object({ token: invitationToken }),
  status: 200,
  output: object({
    organization: Type.String({ description: 'The name of the tenant that the account belongs to.' }),
    email: Type.String({ description: 'The address that was invited, with which you log in.' }),
    role: RoleName,
    invited_by: nullable(
      Type.String({ description: 'The name of the person who invited you; null if they have none.' }),
    ),
    expires_at: timestampText,
  }),
  errors: ['LOGIN_DENIED'],
});

export const acceptInvite = endpoint({
  ...common,
  name: 'acceptInvite',
  session: 'begins',
  method: 'POST',
  path: '/auth/accept-invite',
  summary: 'Accept an invitation by choosing a password',
  description:
    'Returns the same as a login. An invitation can be used once, within 72 hours; one that was used, replaced or revoked, or has expired, gets the same response as an unknown one.',
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  rate: 'auth',
  audit: 'auth:accept_invite',
  effect: 'change',
  body: object({ token: invitationToken, password: newPassword }),
  status: 200,
  output: Session,
  errors: ['LOGIN_DENIED'],
});

export const logout = endpoint({
  ...common,
  name: 'logout',
  session: 'ends',
  beforeEnrolment: true,
  method: 'POST',
  path: '/auth/logout',
  summary: 'Log out: end this session',
  description:
    'Its token is rejected from the next request on, on every node. Personal access tokens stay valid, also those that were created with it. It is not refused for its rate, whatever was sent before.',
  credentials: ['session'],
  tenant: 'own',
  permission: NONE,
  resource: NONE,
  rate: 'write',
  audit: 'auth:logout',
  effect: 'change',
  body: NONE,
  status: 204,
  output: NONE,
  errors: [],
});

export const stepUpOptions = endpoint({
  ...common,
  name: 'stepUpOptions',
  beforeEnrolment: true,
  method: 'POST',
  path: '/auth/step-up/options',
  summary: 'Start showing a second factor again',
  description:
    'Says which factors you have. With a passkey, give `options` to the browser (`startAuthentication({ optionsJSON: options })` of @simplewebauthn/browser) and send its answer to POST /auth/step-up within five minutes.',
  credentials: ['session'],
  tenant: 'own',
  permission: NONE,
  resource: NONE,
  rate: 'read',
  audit: 'auth:step_up_options',
  effect: 'read',
  body: NONE,
  status: 200,
  output: object({
    methods: Type.Array(oneOf(['passkey', 'totp', 'recovery_code'], 'A factor that you have.'), {
      description: 'What you can show.',
    }),
    options: nullable(PasskeyRequestOptions, 'For the browser; null without a passkey.'),
    expires_at: nullable(timestampText),
  }),
  errors: ['PASSKEYS_DISABLED'],
});

export const stepUp = endpoint({
  ...common,
  name: 'stepUp',
  session: 'begins',
  beforeEnrolment: true,
  method: 'POST',
  path: '/auth/step-up',
  summary: 'Show a second factor again and get a new session token',
  description:
    'With `response`, the answer of a passkey, or `otp`, a code of the authenticator app or a recovery code. For 15 minutes the new session can then do what requires a second factor, such as reading fortress secrets. The old session ends; the new one ends when it would have.',
  credentials: ['session'],
  tenant: 'own',
  permission: NONE,
  resource: NONE,
  rate: 'write',
  audit: 'auth:step_up',
  effect: 'change',
  body: objectWithExamples([{ otp: '123456' }], {
    response: Type.Optional(PasskeyAssertion),
    otp: Type.Optional(otpText),
  }),
  status: 200,
  output: ContinuedSession,
  errors: ['LOGIN_DENIED', 'MFA_REQUIRED', 'PASSKEYS_DISABLED'],
});

export const listSessions = endpoint({
  ...common,
  name: 'listSessions',
  method: 'GET',
  path: '/auth/sessions',
  summary: 'List your sessions',
  description: 'Those that have not ended, newest first.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  permission: 'sessions:list',
  resource: 'self/sessions',
  rate: 'read',
  audit: 'sessions:list',
  effect: 'read',
  query: object(pageQuery),
  body: NONE,
  status: 200,
  output: object({ sessions: Type.Array(OwnSession), next_cursor: nextCursor }),
  errors: [],
});

export const endSession = endpoint({
  ...common,
  name: 'endSession',
  method: 'DELETE',
  path: '/auth/sessions/{session_id}',
  summary: 'End one of your sessions',
  description:
    'Its token is rejected from the next request on, on every node. What was created with it ends too: sessions of device codes that it confirmed and, unless `keep_tokens` is true, personal access tokens with `ends_with_sessions`.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  permission: 'sessions:delete',
  resource: 'self/sessions/{session_id}',
  rate: 'write',
  audit: 'sessions:delete',
  effect: 'change',
  params: object({ session_id: described('The id of a session, `token_…`.', idParam) }),
  query: object(keepTokens),
  body: NONE,
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

export const endSessions = endpoint({
  ...common,
  name: 'endSessions',
  method: 'DELETE',
  path: '/auth/sessions',
  summary: 'End all your sessions, except that of this request',
  description:
    'With them end all personal access tokens that were created with a session, also with this one or with one that is long over, unless `keep_tokens` is true or they were created with `ends_with_sessions` false. The credential of this request goes on.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  permission: 'sessions:delete',
  resource: 'self/sessions',
  rate: 'write',
  audit: 'sessions:delete_all',
  effect: 'change',
  query: object(keepTokens),
  body: NONE,
  status: 200,
  output: object({
    sessions_ended: Type.Integer({ description: 'How many sessions ended.' }),
    tokens_ended: Type.Integer({ description: 'How many personal access tokens ended.' }),
  }),
  errors: [],
});

export const readMe = endpoint({
  ...common,
  name: 'readMe',
  beforeEnrolment: true,
  method: 'GET',
  path: '/auth/me',
  summary: 'Show your identity and credential',
  description:
    'Also returns when the credential expires, when a second factor was used with it, and whether programs can present client certificates here.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  permission: NONE,
  resource: NONE,
  rate: 'read',
  audit: 'auth:me',
  effect: 'read',
  body: NONE,
  status: 200,
  output: Me,
  errors: [],
});

export const CHECKS_MAX = 200;

export const readCapabilities = endpoint({
  ...common,
  name: 'readCapabilities',
  method: 'POST',
  path: '/auth/capabilities',
  summary: 'Ask which of several requests you may make',
  description:
    'For programs that offer only what would be allowed. Each check is decided by the evaluator that decides requests, for you, with this credential, from this address, now. It tells nothing about whether the resource exists.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  permission: NONE,
  resource: NONE,
  rate: 'read',
  audit: 'auth:capabilities',
  effect: 'read',
  body: objectWithExamples([{ checks: [{ action: 'secrets:read', resource: 'vault/payments/db/password' }] }], {
    checks: Type.Array(
      named(
        'CapabilityCheck',
        'An action on a resource.',
        object({
          action: Type.String({ minLength: 3, maxLength: 128, description: 'For example secrets:read.' }),
          resource: Type.String({
            minLength: 1,
            maxLength: 1200,
            description: 'For example vault/payments/db/password.',
          }),
          environment: Type.Optional(environmentText),
        }),
      ),
      { minItems: 1, maxItems: CHECKS_MAX, description: 'What to decide.' },
    ),
  }),
  status: 200,
  output: object({
    allowed: Type.Array(Type.Boolean(), { description: 'Whether each check is allowed, in their order.' }),
  }),
  errors: [],
});

export const changePassword = endpoint({
  ...common,
  name: 'changePassword',
  method: 'POST',
  path: '/auth/password',
  summary: 'Set or change your password',
  description:
    '`current_password` is required unless you have no password yet. Then you must have just signed in, or shown your second factor if you have one, and an account of an identity provider is refused unless it is that of an exempt owner; a personal access token is enough only for an owner without a provider and without a second factor. Your other sessions end, and with them the personal access tokens that were created with a session: anyone who knew the old password may have created some. `keep_tokens` leaves them, and `revoke_tokens` revokes all others too. The credential of this request goes on.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  permission: 'password:update',
  resource: 'self/password',
  rate: 'write',
  audit: 'password:update',
  effect: 'change',
  body: objectWithExamples([{ current_password: 'correct horse battery', new_password: 'a horse of my own' }], {
    current_password: Type.Optional(anyPassword),
    new_password: newPassword,
    email: Type.Optional(
      described(
        'The address that you log in with from then on. Only with the first password of an owner who has nothing but the token of the first start.',
        emailText,
      ),
    ),
    revoke_tokens: Type.Optional(
      Type.Boolean({
        description:
          'If true, revokes all your other tokens, also those that do not end with sessions. Default: false.',
      }),
    ),
    ...keepTokens,
  }),
  status: 204,
  output: NONE,
  errors: ['LOGIN_DENIED', 'ALREADY_EXISTS'],
});
