import Type from 'typebox';
import { ANY_CALLER, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { named } from '../../kernel/named-schemas.ts';
import { nextCursor, object, pageQuery } from '../../kernel/wire.ts';
import { vaultName } from '../vaults/index.ts';

const AggregatedSecret = named(
  'AggregatedSecret',
  'A secret with its value, as it is read together with others.',
  object({
    path: Type.String({ description: 'Where it is in the vault.' }),
    type: Type.String({ description: 'What kind of secret it is.' }),
    value: Type.String({ description: 'The value.' }),
    version: Type.Integer({ description: 'The newest version.' }),
  }),
);

export const aggregateSecrets = endpoint({
  name: 'aggregateSecrets',
  method: 'GET',
  path: '/v1/vaults/{vault}/aggregate',
  summary: 'Read several secrets in one call',
  description: 'What you may not read is left out, and so are fortress secrets. Each secret is recorded as read.',
  noun: 'secrets',
  credentials: ANY_CALLER,
  tenant: 'own',
  permission: 'secrets:aggregate',
  resource: 'loaded',
  loads: ['vault/{vault}', 'vault/{vault}/{path*}'],
  rate: 'aggregate',
  bulk: true,
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: true,
  audit: 'secrets:aggregate',
  effect: 'read',
  params: object({ vault: vaultName }),
  query: object({
    prefix: Type.Optional(Type.String({ maxLength: 1024, description: 'Only paths that begin with this text.' })),
    ...pageQuery,
  }),
  body: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  status: 200,
  output: object({
    vault: Type.String({ description: 'Its name.' }),
    prefix: Type.String({ description: 'What was asked for; empty: everything.' }),
    secrets: Type.Array(AggregatedSecret),
    next_cursor: nextCursor,
  }),
  raw: NONE,
  errors: ['VAULT_NOT_FOUND', 'VAULT_OUT_OF_SCOPE'],
});
