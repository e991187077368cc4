import Type from 'typebox';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/request/declaration.ts';
import { named } from '../../kernel/request/named-schemas.ts';
import { id, nextCursor, object, oneOf, pageQuery } from '../../kernel/request/wire.ts';
import { vaultName } from '../vaults/index.ts';

const common = {
  noun: 'secrets',
  credentials: ANY_TOKEN,
  tenant: 'own',
  resource: 'loaded',
  loads: ['vault/{vault}', 'vault/{vault}/{path*}'],
  tier: NONE,
  region: 'forward',
  approval: NONE,
  raw: NONE,
  effect: 'read',
  bodyBytesMax: BODY_BYTES_DEFAULT,
  status: 200,
} as const;

const SearchMatch = named(
  'SearchMatch',
  'A secret whose value contains the text.',
  object({
    id: id('sec'),
    path: Type.String({ description: 'Path of the secret in the vault.' }),
    type: Type.String({ description: 'Type of the secret.' }),
    version: Type.Integer({ description: 'The newest version.' }),
  }),
);

export const searchSecrets = endpoint({
  ...common,
  name: 'searchSecrets',
  method: 'POST',
  path: '/v1/vaults/{vault}/search',
  summary: 'Find secrets whose value contains a text',
  description:
    'Searches the secrets you may read, except fortress secrets. Each request scans a bounded number of them: continue with `next_cursor`.',
  permission: 'secrets:search',
  rate: 'aggregate',
  bulk: true,
  plaintext: true,
  audit: 'secrets:search',
  params: object({ vault: vaultName }),
  query: NONE,
  body: object({
    query: Type.String({ minLength: 3, maxLength: 256, description: 'Substring of the value, case-sensitive.' }),
    prefix: Type.Optional(Type.String({ maxLength: 1024, description: 'Only paths that start with this text.' })),
    cursor: pageQuery.cursor,
  }),
  output: object({
    matches: Type.Array(SearchMatch),
    next_cursor: nextCursor,
  }),
  errors: ['VAULT_NOT_FOUND', 'ZkBoundaryViolation'],
});

const CollidingSecret = named(
  'CollidingSecret',
  'One of the colliding secrets.',
  object({
    id: id('sec'),
    vault: Type.String({ description: 'The name of its vault.' }),
    path: Type.String({ description: 'Path of the secret in the vault.' }),
  }),
);

const Collision = named(
  'Collision',
  'Secrets in several vaults that have the same path or the same value.',
  object({
    kind: oneOf(['path', 'value'], 'Whether the secrets share their path or their value.'),
    path: Type.String({ description: 'The common path; for equal values, the path of the first secret.' }),
    vaults: Type.Array(Type.String(), { description: 'At most 50 are listed.' }),
    vaults_total: Type.Integer({ description: 'Total number.' }),
    secrets: Type.Array(CollidingSecret, {
      description: 'At most 50 are listed.',
    }),
    secrets_total: Type.Integer({
      description: 'Total number; at most 8,000 secrets with the same value are examined.',
    }),
  }),
);

export const listCollisions = endpoint({
  ...common,
  name: 'listCollisions',
  method: 'GET',
  path: '/vaults/collisions',
  summary: 'List secrets that are in more than one vault, by path or by equal value',
  description:
    'Covers only secrets you may list, and for equal values only those you may read. Equal values are found by a keyed fingerprint; neither values nor fingerprints leave the service.',
  permission: 'secrets:list',
  rate: 'aggregate',
  bulk: true,
  plaintext: false,
  audit: 'secrets:list_collisions',
  params: NONE,
  query: object(pageQuery),
  body: NONE,
  output: object({
    collisions: Type.Array(Collision),
    total: Type.Integer({ description: 'Total number on all pages.' }),
    complete: Type.Boolean({
      description:
        'False while fingerprints are being recomputed under another key, for example after an upgrade: some equal values may be missing; retry in a few minutes. Also false if a value is in more than 8,000 secrets and all examined ones are in one vault.',
    }),
    next_cursor: nextCursor,
  }),
  errors: [],
});
