import Type from 'typebox';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { nullable, object, timestampText } from '../../kernel/wire.ts';

/** Six digits from an authenticator, or one of the recovery codes. */
export const otpText = Type.String({
  minLength: 6,
  maxLength: 32,
  pattern: '^[A-Za-z0-9-]+$',
  description: 'Six digits from the authenticator, or a recovery code.',
});

const common = {
  noun: 'mfa',
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
  method: 'GET',
  path: '/auth/mfa',
  summary: 'Whether you have a second factor',
  permission: 'mfa:read',
  resource: 'self/mfa',
  rate: 'read',
  audit: 'mfa:read',
  effect: 'read',
  body: NONE,
  status: 200,
  output: object({
    totp: object({ enrolled: Type.Boolean(), confirmed_at: nullable(timestampText) }),
    recovery_codes_left: Type.Integer(),
  }),
  errors: [],
});

export const enrolTotp = endpoint({
  ...common,
  name: 'enrolTotp',
  method: 'POST',
  path: '/auth/mfa/totp',
  summary: 'Begin to enrol an authenticator app',
  description: 'The secret is shown in this answer and never again. Nothing changes until a code from it is confirmed.',
  permission: 'mfa:enrol',
  resource: 'self/mfa',
  rate: 'write',
  audit: 'mfa:enrol',
  effect: 'change',
  body: NONE,
  status: 201,
  output: object({ secret: Type.String(), otpauth_uri: Type.String() }),
  errors: ['ALREADY_EXISTS'],
});

export const confirmTotp = endpoint({
  ...common,
  name: 'confirmTotp',
  method: 'POST',
  path: '/auth/mfa/totp/confirm',
  summary: 'Finish enrolling with a code from the app',
  description:
    'From now on a login needs a code. The recovery codes are shown once; each works once, in place of a code.',
  permission: 'mfa:enrol',
  resource: 'self/mfa',
  rate: 'write',
  audit: 'mfa:confirm',
  effect: 'change',
  body: object({ otp: otpText }),
  status: 200,
  output: object({ confirmed_at: timestampText, recovery_codes: Type.Array(Type.String()) }),
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'LOGIN_DENIED'],
});

export const MFA_ENDPOINTS = [readMfa, enrolTotp, confirmTotp];
