import Type from 'typebox';
import { RoleName } from '../../kernel/authz/roles.ts';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, CREDENTIAL_KINDS, endpoint, NONE } from '../../kernel/endpoint.ts';
import { PlanName } from '../../kernel/limits/limit-schemas.ts';
import { described, named } from '../../kernel/named-schemas.ts';
import {
  emailText,
  id,
  newPassword,
  nullable,
  object,
  objectWithExamples,
  oneOf,
  PASSWORD_LENGTH_MAX,
  resourceName,
  timestampText,
} from '../../kernel/wire.ts';
import { otpText } from '../mfa/index.ts';

const INVITATION_LENGTH_MAX = 128;
const anyPassword = Type.String({
  minLength: 1,
  maxLength: PASSWORD_LENGTH_MAX,
  description: 'The password as it is now.',
});

const common = {
  noun: 'sessions',
  nounDescription: 'Logging in and out, and who one is.',
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  params: NONE,
  query: NONE,
} as const;

const Session = object({
  token: Type.String({ description: 'Shown once.' }),
  token_id: id('token'),
  expires_at: timestampText,
  user_id: id('user'),
});

export const login = endpoint({
  ...common,
  name: 'login',
  method: 'POST',
  path: '/auth/login',
  summary: 'Log in with e-mail address and password',
  description:
    'Answers a session token that lives 12 hours. An account with a second factor answers MFA_REQUIRED until `otp` is sent too. The answer, ' +
    'and the time it takes, do not tell whether an account exists.',
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

export const acceptInvite = endpoint({
  ...common,
  name: 'acceptInvite',
  method: 'POST',
  path: '/auth/accept-invite',
  summary: 'Accept an invitation by choosing a password',
  description:
    'Answers like a login. An invitation is good once and for 72 hours; one that was used, ended or replaced is answered like one that never was.',
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  rate: 'auth',
  audit: 'auth:accept_invite',
  effect: 'change',
  body: object({
    token: Type.String({
      minLength: 1,
      maxLength: INVITATION_LENGTH_MAX,
      writeOnly: true,
      description: 'Of the invitation.',
      examples: ['cv_inv_7Qm2xV9kLr4Tn8'],
    }),
    password: newPassword,
  }),
  status: 200,
  output: Session,
  errors: ['LOGIN_DENIED'],
});

export const logout = endpoint({
  ...common,
  name: 'logout',
  beforeEnrolment: true,
  method: 'POST',
  path: '/auth/logout',
  summary: 'End this session',
  description: 'Its token is refused from the next request on, on every node. Personal access tokens go on.',
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

const TenantWarning = named(
  'TenantWarning',
  'What owners and admins should know of their tenant.',
  object({
    code: oneOf(['two_admins', 'break_glass'], 'Stable; decide by this.'),
    message: Type.String({ description: 'What it means and what to do.' }),
    at: nullable(timestampText),
  }),
);

export const readMe = endpoint({
  ...common,
  name: 'readMe',
  beforeEnrolment: true,
  method: 'GET',
  path: '/auth/me',
  summary: 'Who you are, and by which credential',
  description: 'Also says until when the credential is valid, and when a second factor was shown with it.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  permission: NONE,
  resource: NONE,
  rate: 'read',
  audit: 'auth:me',
  effect: 'read',
  body: NONE,
  status: 200,
  output: object({
    user: described(
      'Who you are.',
      object({
        id: id('user'),
        email: Type.String({ description: 'The address you log in with.' }),
        name: Type.String({ description: 'What people call you.' }),
        role: RoleName,
      }),
    ),
    tenant: described(
      'The tenant you belong to.',
      object({ id: id('tenant'), name: Type.String({ description: 'Its name.' }), plan: PlanName }),
    ),
    credential: described(
      'By what you are known.',
      object({
        kind: oneOf(CREDENTIAL_KINDS, 'What kind of credential it is.'),
        id: id('token'),
        expires_at: timestampText,
        mfa_at: nullable(timestampText),
      }),
    ),
    warnings: Type.Array(TenantWarning, {
      description: 'For owners and admins: what they should know of their tenant. Empty for others.',
    }),
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
    '`current_password` is needed unless you have none yet. Your other sessions end, and with `revoke_tokens` your personal access tokens too: whoever knew the ' +
    'old password may have made some.',
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
    revoke_tokens: Type.Optional(
      Type.Boolean({
        description: 'Ends every other token of yours, not only your other sessions. False unless given.',
      }),
    ),
  }),
  status: 204,
  output: NONE,
  errors: ['LOGIN_DENIED'],
});
