import Type from 'typebox';
import { RoleName } from '../../kernel/authz/roles.ts';
import { PlanName } from '../../kernel/limits/limit-schemas.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import { id, nullable, object, oneOf, timestampText } from '../../kernel/wire/wire.ts';
import { tokenKind } from '../tokens/index.ts';

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

/** The answer to who somebody is, and with what. */
export const Me = object({
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
    description:
      'Warnings for owners and admins about their tenant; empty for others. `first_token` is for the owner who has it and another way in.',
  }),
  tls_url: nullable(
    Type.String({
      description:
        'The URL of the service at which a program can present a client certificate; null if there is no TLS listener.',
    }),
  ),
});

export const keepTokens = {
  keep_tokens: Type.Optional(
    Type.Boolean({
      description: 'If true, the personal access tokens go on that were created with these sessions. Default: false.',
    }),
  ),
};
