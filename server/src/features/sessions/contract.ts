import Type from 'typebox';
import { RoleName } from '../../kernel/authz/roles.ts';
import { PlanName } from '../../kernel/limits/limit-schemas.ts';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/request/declaration.ts';
import { described, named } from '../../kernel/request/named-schemas.ts';
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
} from '../../kernel/request/wire.ts';
import { otpText } from '../mfa/index.ts';
import { tokenKind } from '../tokens/index.ts';

const INVITATION_LENGTH_MAX = 128;
const anyPassword = Type.String({
  minLength: 1,
  maxLength: PASSWORD_LENGTH_MAX,
  description: 'The current password.',
});

const common = {
  noun: 'sessions',
  nounDescription: 'Login, logout and the current identity.',
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
  token: Type.String({ description: 'Returned once.' }),
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
    'Returns a session token that is valid for 12 hours. For an account with a second factor, MFA_REQUIRED is returned until `otp` is sent too. Neither the response nor its timing reveals whether an account exists.',
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
    'Returns the same as a login. An invitation can be used once, within 72 hours; one that was used, replaced or revoked, or has expired, gets the same response as an unknown one.',
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
      description: 'The token of the invitation.',
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
  summary: 'Log out: end this session',
  description: 'Its token is rejected from the next request on, on every node. Personal access tokens stay valid.',
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
  'A warning for owners and admins about their tenant.',
  object({
    code: oneOf(['two_admins', 'break_glass'], 'Stable code for programs.'),
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
  summary: 'Show your identity and credential',
  description: 'Also returns when the credential expires, and when a second factor was used with it.',
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
      'The current user.',
      object({
        id: id('user'),
        email: Type.String({ description: 'The address you log in with.' }),
        name: Type.String({ description: 'Display name.' }),
        role: RoleName,
      }),
    ),
    tenant: described(
      'The tenant you belong to.',
      object({ id: id('tenant'), name: Type.String({ description: 'Its name.' }), plan: PlanName }),
    ),
    credential: described(
      'The credential of this request.',
      object({
        kind: tokenKind,
        id: id('token'),
        expires_at: timestampText,
        mfa_at: nullable(timestampText),
      }),
    ),
    warnings: Type.Array(TenantWarning, {
      description: 'Warnings for owners and admins about their tenant; empty for others.',
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
    '`current_password` is required unless you have no password yet. Your other sessions end, and with `revoke_tokens` your personal access tokens are revoked too: anyone who knew the old password may have created some.',
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
        description: 'If true, revokes all your other tokens, not only your other sessions. Default: false.',
      }),
    ),
  }),
  status: 204,
  output: NONE,
  errors: ['LOGIN_DENIED'],
});
