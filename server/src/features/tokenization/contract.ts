import Type from 'typebox';
import { ANY_CALLER, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { id, nullable, object, timestampText } from '../../kernel/wire/wire.ts';
import { VALUE_BODY_BYTES_MAX, VALUE_BYTES_MAX } from '../secrets/index.ts';
import { vaultName } from '../vaults/index.ts';

const common = {
  ...ORDINARY,
  noun: 'tokenization',
  aboutNoun: {
    title: 'Tokenization',
    group: 'Cryptography',
    guide: ['tokenization'],
    description: 'Tokens that replace a sensitive value, so that others can pass them on without seeing the value.',
  },
  method: 'POST',
  credentials: ANY_CALLER,
  resource: 'loaded',
  loads: ['vault/{vault}', 'vault/{vault}/{path*}'],
  plaintext: true,
  bodyBytesMax: VALUE_BODY_BYTES_MAX,
  params: object({ vault: vaultName }),
  query: NONE,
} as const;

export const tokenize = endpoint({
  ...common,
  name: 'tokenize',
  path: '/v1/vaults/{vault}/tokenize',
  summary: 'Store a value and get a token for it',
  description: 'The token reveals nothing about the value; the same value gets a different token each time.',
  permission: 'secrets:tokenize',
  rate: 'write',
  audit: 'secrets:tokenize',
  effect: 'change',
  body: object({
    value: Type.String({ minLength: 1, maxLength: VALUE_BYTES_MAX, description: 'The value to store.' }),
    ttl_days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 3650,
        description: 'Lifetime in days; without it the value does not expire.',
      }),
    ),
  }),
  status: 201,
  output: object({ token: id('tok'), expires_at: nullable(timestampText) }),
  errors: ['VAULT_NOT_FOUND', 'ZkBoundaryViolation'],
});

export const detokenize = endpoint({
  ...common,
  name: 'detokenize',
  path: '/v1/vaults/{vault}/detokenize',
  summary: 'Get the value of a token',
  description: 'Only works in the vault in which the token was created.',
  permission: 'secrets:detokenize',
  rate: 'read',
  audit: 'secrets:detokenize',
  effect: 'read',
  body: object({ token: id('tok') }),
  status: 200,
  output: object({ value: Type.String({ description: 'The value.' }) }),
  errors: ['VAULT_NOT_FOUND', 'NOT_FOUND', 'ZkBoundaryViolation'],
});
