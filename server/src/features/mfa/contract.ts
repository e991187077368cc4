import Type from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described } from '../../kernel/wire/named-schemas.ts';
import { Deleted, idParam, nextCursor, nullable, object, timestampText } from '../../kernel/wire/wire.ts';
import { ContinuedSession, Passkey, PasskeyCreationOptions, PasskeyRegistration, passkeyName } from './schemas.ts';

export const otpText = Type.String({
  minLength: 6,
  maxLength: 32,
  pattern: '^[A-Za-z0-9-]+$',
  description: 'Six digits from the authenticator, or a recovery code.',
});

const userId = described('The id of a user, `user_…`.', idParam);

const common = {
  ...ORDINARY,
  noun: 'mfa',
  aboutNoun: {
    title: 'Second factors',
    group: 'People',
    guide: ['second-factors', 'passkeys', 'lost-access'],
    description: 'Second factors of users.',
  },
  credentials: ANY_TOKEN,
  region: 'local',
  params: NONE,
  query: NONE,
} as const;

const stepUp = Type.Optional(
  Type.Boolean({
    description:
      'Whether your first factor counts as shown by adding it, as after POST /auth/step-up: `session` then has your session under a new id, and the old one ends.',
  }),
);
const continued = nullable(
  ContinuedSession,
  'Null without `step_up`, to a personal access token, and if you had a factor before: what you showed to add another one counts for its 15 minutes.',
);

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
        opens_fortress_from: nullable(
          timestampText,
          'When it opens fortress secrets: a day after it was confirmed, or when it was trusted.',
        ),
      }),
    ),
    passkeys: Type.Integer({ description: 'Number of passkeys.' }),
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
    'The secret is returned only in this response. The enrolment takes effect only once you confirm it with a code from the app. Requires that you have just signed in or, with a passkey, have just shown a second factor; a personal access token does neither, except that of an owner who has no other way to sign in.',
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
  errors: ['ALREADY_EXISTS', 'MFA_REQUIRED'],
});

export const confirmTotp = endpoint({
  ...common,
  name: 'confirmTotp',
  session: 'continues',
  beforeEnrolment: true,
  method: 'POST',
  path: '/auth/mfa/totp/confirm',
  summary: 'Finish enrolling with a code from the app',
  description:
    'After this, a login requires a code. The recovery codes are returned once; each can be used once instead of a code. Requires a sign-in or a second factor as the start does.',
  permission: 'mfa:enrol',
  resource: 'self/mfa',
  rate: 'write',
  audit: 'mfa:confirm',
  effect: 'change',
  body: object({ otp: otpText, step_up: stepUp }),
  status: 200,
  output: object({
    confirmed_at: timestampText,
    session: continued,
    recovery_codes: Type.Array(Type.String(), { description: 'Returned once; each can be used once.' }),
  }),
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'LOGIN_DENIED', 'MFA_REQUIRED'],
});

export const disableTotp = endpoint({
  ...common,
  name: 'disableTotp',
  method: 'DELETE',
  path: '/auth/mfa/totp',
  summary: 'Remove your authenticator app',
  description:
    'Requires that you have just shown a second factor, of which a recovery code is one, and needs approval, unless you keep a passkey that is a day old. An enrolment that was never confirmed needs neither. The recovery codes are removed with the last factor.',
  permission: 'mfa:disable',
  resource: 'self/mfa',
  rate: 'write',
  approval: 'mfa_disable',
  audit: 'mfa:disable',
  effect: 'change',
  body: NONE,
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND', 'MFA_REQUIRED'],
});

export const resetMfa = endpoint({
  ...common,
  name: 'resetMfa',
  method: 'DELETE',
  path: '/v1/users/{user_id}/mfa',
  summary: 'Remove the second factors of a user who lost them',
  description:
    'Removes the authenticator app, every passkey and the recovery codes. Needs approval. Only an owner can remove the second factor of an owner. Your own are removed only if you have just shown one and have another way in; whoever lost all of theirs asks another admin, or whoever runs the machine.',
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
  errors: ['NOT_FOUND', 'MFA_REQUIRED'],
});

export const trustMfa = endpoint({
  ...common,
  name: 'trustMfa',
  method: 'POST',
  path: '/v1/users/{user_id}/mfa/trust',
  summary: 'Trust a user’s new second factors for fortress secrets before their 24-hour waiting period ends',
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

export const askMfaTrust = endpoint({
  ...common,
  name: 'askMfaTrust',
  method: 'POST',
  path: '/auth/mfa/trust',
  summary: 'Ask that your new second factors open fortress secrets before their first day is over',
  description:
    'Waits for the approval of two owners or admins, or of the only one there is, each of whom has just shown a second factor that is a day old. Requires that you have just shown your own. If you are an owner, another owner is one of the two, if there is one. The request stays when you log out; it is cancelled when all your sessions are ended, as by a reset of your password, and fails if your factors or recovery codes change meanwhile.',
  credentials: ['session'],
  permission: 'mfa:ask_trust',
  resource: 'self/mfa',
  rate: 'write',
  approval: 'mfa_trust',
  audit: 'mfa:ask_trust',
  effect: 'change',
  body: NONE,
  status: 200,
  output: object({ trusted_at: timestampText }),
  errors: ['NOT_FOUND', 'MFA_REQUIRED'],
});

const ofPasskey = {
  resource: 'self/mfa/passkeys/{passkey_id}',
  params: object({ passkey_id: described('The id of a passkey, `passkey_…`.', idParam) }),
} as const;

export const passkeyEnrolmentOptions = endpoint({
  ...common,
  name: 'passkeyEnrolmentOptions',
  beforeEnrolment: true,
  method: 'POST',
  path: '/auth/mfa/passkeys/options',
  summary: 'Start enrolling a passkey',
  description:
    'Give `options` to the browser (`startRegistration({ optionsJSON: options })` of @simplewebauthn/browser) and send its answer to POST /auth/mfa/passkeys within five minutes.',
  credentials: ['session'],
  permission: 'mfa:enrol',
  resource: 'self/mfa',
  rate: 'write',
  audit: 'mfa:passkey_options',
  effect: 'read',
  body: NONE,
  status: 200,
  output: object({ options: PasskeyCreationOptions, expires_at: timestampText }),
  errors: ['MFA_REQUIRED', 'PASSKEYS_DISABLED'],
});

export const enrolPasskey = endpoint({
  ...common,
  name: 'enrolPasskey',
  session: 'continues',
  beforeEnrolment: true,
  method: 'POST',
  path: '/auth/mfa/passkeys',
  summary: 'Enrol a passkey with the answer of the browser',
  description:
    'Requires that you have just signed in or, with a second factor, have just shown it. After this you can sign in with the passkey, and a login with a password requires a second factor: make recovery codes.',
  credentials: ['session'],
  permission: 'mfa:enrol',
  resource: 'self/mfa',
  rate: 'write',
  audit: 'mfa:enrol_passkey',
  effect: 'change',
  body: object({ name: passkeyName, response: PasskeyRegistration, step_up: stepUp }),
  status: 201,
  output: object({ ...Passkey.properties, session: continued }),
  errors: ['ALREADY_EXISTS', 'LOGIN_DENIED', 'MFA_REQUIRED', 'PASSKEYS_DISABLED', 'QUOTA_EXCEEDED'],
});

export const listPasskeys = endpoint({
  ...common,
  name: 'listPasskeys',
  beforeEnrolment: true,
  method: 'GET',
  path: '/auth/mfa/passkeys',
  summary: 'List your passkeys',
  description: 'All of them, oldest first.',
  permission: 'mfa:read',
  resource: 'self/mfa',
  rate: 'read',
  audit: 'mfa:list_passkeys',
  effect: 'read',
  body: NONE,
  status: 200,
  output: object({ passkeys: Type.Array(Passkey), next_cursor: nextCursor }),
  errors: [],
});

export const renamePasskey = endpoint({
  ...common,
  ...ofPasskey,
  name: 'renamePasskey',
  method: 'PATCH',
  path: '/auth/mfa/passkeys/{passkey_id}',
  summary: 'Rename a passkey',
  description: 'The name is for you only.',
  permission: 'mfa:enrol',
  rate: 'write',
  audit: 'mfa:rename_passkey',
  effect: 'change',
  body: object({ name: passkeyName }),
  status: 200,
  output: Passkey,
  errors: ['NOT_FOUND'],
});

export const deletePasskey = endpoint({
  ...common,
  ...ofPasskey,
  name: 'deletePasskey',
  method: 'DELETE',
  path: '/auth/mfa/passkeys/{passkey_id}',
  summary: 'Remove a passkey',
  description:
    'Requires that you have just shown a second factor, and needs approval, unless you keep one that is a day old. The last passkey is removed only if you have another way in: a password, or a provider that signs you in. The recovery codes are removed with the last factor.',
  permission: 'mfa:disable',
  rate: 'write',
  approval: 'mfa_disable',
  audit: 'mfa:delete_passkey',
  effect: 'change',
  body: NONE,
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND', 'MFA_REQUIRED'],
});

export const readRecoveryCodes = endpoint({
  ...common,
  name: 'readRecoveryCodes',
  beforeEnrolment: true,
  method: 'GET',
  path: '/auth/mfa/recovery-codes',
  summary: 'Read how many recovery codes are left',
  description: 'The codes themselves are returned only when they are made.',
  permission: 'mfa:read',
  resource: 'self/mfa',
  rate: 'read',
  audit: 'mfa:read_recovery_codes',
  effect: 'read',
  body: NONE,
  status: 200,
  output: object({ left: Type.Integer({ description: 'Number of unused recovery codes.' }) }),
  errors: [],
});

export const makeRecoveryCodes = endpoint({
  ...common,
  name: 'makeRecoveryCodes',
  method: 'POST',
  path: '/auth/mfa/recovery-codes',
  summary: 'Make new recovery codes, which replace the old ones',
  description:
    'Requires that you have just shown a second factor. Each code can be used once in place of a one-time code, at login and step-up.',
  credentials: ['session'],
  permission: 'mfa:enrol',
  resource: 'self/mfa',
  rate: 'write',
  audit: 'mfa:make_recovery_codes',
  effect: 'change',
  body: NONE,
  status: 201,
  output: object({
    recovery_codes: Type.Array(Type.String(), { description: 'Returned once; each can be used once.' }),
  }),
  errors: ['NOT_FOUND', 'MFA_REQUIRED'],
});
