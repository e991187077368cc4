import Type from 'typebox';
import { ANY_CALLER, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint/declaration.ts';
import { named } from '../../kernel/wire/named-schemas.ts';
import { nextCursor, object, pageQuery } from '../../kernel/wire/wire.ts';
import { templateSchemas } from '../secrets/index.ts';
import { vaultName } from '../vaults/index.ts';

const AggregatedSecret = named(
  'AggregatedSecret',
  'A secret with its value, as part of a bulk read.',
  object({
    path: Type.String({ description: 'The path of the secret in the vault.' }),
    type: Type.String({ description: 'The type of the secret.' }),
    value: Type.String({ description: 'The value.' }),
    version: Type.Integer({ description: 'The newest version.' }),
    parts: templateSchemas.templateParts,
  }),
);

export const aggregateSecrets = endpoint({
  name: 'aggregateSecrets',
  method: 'GET',
  path: '/v1/vaults/{vault}/aggregate',
  summary: 'Read several secrets in one request',
  description:
    'Secrets that you may not read are omitted, and so are fortress secrets. Templates are resolved, and omitted if you may not read all that they refer to, or if they cannot be resolved. Each secret is recorded as read.',
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
    prefix: Type.Optional(Type.String({ maxLength: 1024, description: 'Only paths that start with this text.' })),
    resolve: templateSchemas.resolve,
    ...pageQuery,
  }),
  body: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  status: 200,
  output: object({
    vault: Type.String({ description: 'The name of the vault.' }),
    prefix: Type.String({ description: 'The requested prefix; empty for the whole vault.' }),
    secrets: Type.Array(AggregatedSecret),
    next_cursor: nextCursor,
  }),
  raw: NONE,
  errors: ['VAULT_NOT_FOUND', 'VAULT_OUT_OF_SCOPE'],
});
