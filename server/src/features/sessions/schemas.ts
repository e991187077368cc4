import Type from 'typebox';
import { named } from '../../kernel/request/named-schemas.ts';
import { id, nullable, object, oneOf, timestampText } from '../../kernel/request/wire.ts';

export const OwnSession = named(
  'Session',
  'A session of yours that has not ended.',
  object({
    id: id('token'),
    is_current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
    method: nullable(
      oneOf(['password', 'passkey', 'sign_on', 'invitation', 'device']),
      'How it was opened; sign_on: with an OpenID provider; device: by a code on a command line, which another session or a sign-in with a provider confirmed. Null if it is older than this field.',
    ),
    factor: nullable(
      oneOf(['totp', 'passkey', 'recovery_code']),
      'The second factor that was shown; null if none was.',
    ),
    address: nullable(Type.String(), 'The address that opened it.'),
    mfa_at: nullable(timestampText),
    created_at: timestampText,
    expires_at: timestampText,
  }),
);

export const TenantWarning = named(
  'TenantWarning',
  'A warning for owners and admins about their tenant.',
  object({
    code: oneOf(['two_admins', 'break_glass', 'first_token'], 'Stable code for programs.'),
    message: Type.String({ description: 'What it means and what to do.' }),
    at: nullable(timestampText),
  }),
);
