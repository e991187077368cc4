import Type from 'typebox';
import { ANY_CALLER, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { nullable, object, timestampText } from '../../kernel/wire/wire.ts';
import { vaultName } from '../vaults/index.ts';

/** The sealed text is short. */
export const CHECK_LENGTH_MAX = 512;

const EXAMPLE =
  'zk:v1:aes-256-gcm:argon2id:Sg8vDgEcQXlIvCnMYgrRjQ:HX6VOWwXzqyuB0MF:T2vqdBrzOtp0iXbPcA:q7zvS1pCwdm_FWqQWVTXDA';

const envelope = Type.String({
  minLength: 1,
  maxLength: CHECK_LENGTH_MAX,
  description: 'A fixed text that the client library sealed under the passphrase or key of the vault.',
  examples: [EXAMPLE],
});

const PassphraseCheck = object({
  check: nullable(envelope),
  former: nullable(envelope),
  version: Type.Integer({ minimum: 0, maximum: 2_147_483_647, description: '0 while the vault has no check.' }),
  updated_at: nullable(timestampText),
});

const common = {
  ...ORDINARY,
  noun: 'vaults',
  path: '/v1/vaults/{vault}/passphrase-check',
  credentials: ANY_CALLER,
  resource: 'loaded',
  loads: ['vault/{vault}', 'vault/{vault}/{path*}'],
  params: object({ vault: vaultName }),
  query: NONE,
  status: 200,
  output: PassphraseCheck,
} as const;

export const getPassphraseCheck = endpoint({
  ...common,
  name: 'getPassphraseCheck',
  method: 'GET',
  summary: 'Get what tells whether a passphrase is that of a zero-knowledge vault',
  description:
    'Before a client seals a value, it opens the check, so that a mistyped passphrase is noticed before the value is lost. `former` is set while the values of the vault are sealed again under a new passphrase. Another vault has none.',
  permission: 'secrets:read',
  rate: 'read',
  audit: 'passphrase_check:read',
  effect: 'read',
  body: NONE,
  errors: ['VAULT_NOT_FOUND'],
});

export const putPassphraseCheck = endpoint({
  ...common,
  name: 'putPassphraseCheck',
  method: 'PUT',
  summary: 'Store what tells whether a passphrase is that of a zero-knowledge vault',
  description:
    'The client library stores it with the first value of the vault. To change the passphrase, send the new check with the present one as `former`, seal every value again, and then send the check without `former`.',
  permission: 'secrets:create',
  rate: 'write',
  audit: 'passphrase_check:update',
  effect: 'change',
  body: object({
    check: envelope,
    former: Type.Optional(nullable(envelope)),
    expected_version: Type.Integer({
      minimum: 0,
      maximum: 2_147_483_646,
      description: 'The version that was read, 0 if there was none.',
      examples: [0],
    }),
  }),
  errors: ['VAULT_NOT_FOUND', 'VERSION_CONFLICT'],
});
