import Type from 'typebox';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/request/declaration.ts';
import { described } from '../../kernel/request/named-schemas.ts';
import { Deleted, idParam, nullable, object, timestampText } from '../../kernel/request/wire.ts';

export const otpText = Type.String({
  minLength: 6,
  maxLength: 32,
  pattern: '^[A-Za-z0-9-]+$',
  description: 'Six digits from the authenticator, or a recovery code.',
});

const userId = described('The id of a user, `user_…`.', idParam);

const common = {
  noun: 'mfa',
  nounDescription: 'Second factors of users.',
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
} as const;

export const readMfa = endpoint({
  ...common,
  name: 'readMfa',
  beforeEnrolment: true,
  method: 'GET',
  path: '/auth/mfa',
  summary: 'Read whether you have a second factor',
  description: 'Also returns how many recovery codes are left.',
  permission: 'mfa:read',
  resource: 'self/mfa',
  rate: 'read',
  audit: 'mfa:read',
  effect: 'read',
  body: NONE,
  status: 200,
  output: object({
    totp: described(
      'The authenticator app.',
      object({
        enrolled: Type.Boolean({ description: 'Whether an authenticator app is enrolled and confirmed.' }),
        confirmed_at: nullable(timestampText),
      }),
    ),
    recovery_codes_left: Type.Integer({ description: 'Number of unused recovery codes.' }),
  }),
  errors: [],
});

export const enrolTotp = endpoint({
  ...common,
  name: 'enrolTotp',
  beforeEnrolment: true,
  method: 'POST',
  path: '/auth/mfa/totp',
  summary: 'Start enrolling an authenticator app',
  description:
    'The secret is returned only in this response. The enrolment takes effect only once you confirm it with a code from the app.',
  permission: 'mfa:enrol',
  resource: 'self/mfa',
  rate: 'write',
  audit: 'mfa:enrol',
  effect: 'change',
  body: NONE,
  status: 201,
  output: object({
    secret: Type.String({ description: 'Secret for the app, in base32. Returned once.' }),
    otpauth_uri: Type.String({ description: 'The same secret as an `otpauth://` URI, for a QR code.' }),
  }),
  errors: ['ALREADY_EXISTS'],
});

export const confirmTotp = endpoint({
  ...common,
  name: 'confirmTotp',
  beforeEnrolment: true,
  method: 'POST',
  path: '/auth/mfa/totp/confirm',
  summary: 'Finish enrolling with a code from the app',
  description:
    'After this, a login requires a code. The recovery codes are returned once; each can be used once instead of a code.',
  permission: 'mfa:enrol',
  resource: 'self/mfa',
  rate: 'write',
  audit: 'mfa:confirm',
  effect: 'change',
  body: object({ otp: otpText }),
  status: 200,
  output: object({
    confirmed_at: timestampText,
    recovery_codes: Type.Array(Type.String(), { description: 'Returned once; each can be used once.' }),
  }),
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'LOGIN_DENIED'],
});

export const disableTotp = endpoint({
  ...common,
  name: 'disableTotp',
  method: 'DELETE',
  path: '/auth/mfa/totp',
  summary: 'Remove your second factor',
  description: 'Needs approval, unless the enrolment was never confirmed. The recovery codes are removed too.',
  permission: 'mfa:disable',
  resource: 'self/mfa',
  rate: 'write',
  approval: 'mfa_disable',
  audit: 'mfa:disable',
  effect: 'change',
  body: NONE,
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

export const resetMfa = endpoint({
  ...common,
  name: 'resetMfa',
  method: 'DELETE',
  path: '/v1/users/{user_id}/mfa',
  summary: 'Remove the second factor of a user who lost it',
  description: 'Needs approval. Only an owner can remove the second factor of an owner.',
  region: 'forward',
  permission: 'users:reset_mfa',
  resource: 'user/{user_id}',
  rate: 'write',
  approval: 'mfa_disable',
  audit: 'mfa:reset',
  effect: 'change',
  params: object({ user_id: userId }),
  body: NONE,
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

export const trustMfa = endpoint({
  ...common,
  name: 'trustMfa',
  method: 'POST',
  path: '/v1/users/{user_id}/mfa/trust',
  summary: 'Trust a user’s new second factor for fortress secrets before its 24-hour waiting period ends',
  description: 'Requires a recent second factor of your own, and needs approval.',
  region: 'forward',
  permission: 'users:trust_mfa',
  resource: 'user/{user_id}',
  rate: 'write',
  approval: 'rbac_change',
  audit: 'mfa:trust',
  effect: 'change',
  params: object({ user_id: userId }),
  body: NONE,
  status: 200,
  output: object({ trusted_at: timestampText }),
  errors: ['NOT_FOUND', 'MFA_REQUIRED'],
});
