import Type from 'typebox';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { named } from '../../kernel/named-schemas.ts';
import { id, nextCursor, object, oneOf, pageQuery } from '../../kernel/wire.ts';
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
    path: Type.String({ description: 'Where it is in the vault.' }),
    type: Type.String({ description: 'What kind of secret it is.' }),
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
    'Looks into the secrets you may read, never into fortress ones. It looks at a bounded number of them: with a `next_cursor`, go on.',
  permission: 'secrets:search',
  rate: 'aggregate',
  bulk: true,
  plaintext: true,
  audit: 'secrets:search',
  params: object({ vault: vaultName }),
  query: NONE,
  body: object({
    query: Type.String({ minLength: 3, maxLength: 256, description: 'Found anywhere in the value, as it is written.' }),
    prefix: Type.Optional(Type.String({ maxLength: 1024, description: 'Only paths that begin with this text.' })),
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
  'One of the secrets that collide.',
  object({
    id: id('sec'),
    vault: Type.String({ description: 'The name of its vault.' }),
    path: Type.String({ description: 'Where it is in the vault.' }),
  }),
);

const Collision = named(
  'Collision',
  'Secrets of several vaults with one path, or with one value.',
  object({
    kind: oneOf(['path', 'value'], 'What they have in common.'),
    path: Type.String({ description: 'The common path; of equal values, that of the first.' }),
    vaults: Type.Array(Type.String(), { description: 'At most 50 of them.' }),
    vaults_total: Type.Integer({ description: 'How many there are.' }),
    secrets: Type.Array(CollidingSecret, {
      description: 'At most 50 of them.',
    }),
    secrets_total: Type.Integer({ description: 'How many there are; of one value at most 8,000 are looked at.' }),
  }),
);

export const listCollisions = endpoint({
  ...common,
  name: 'listCollisions',
  method: 'GET',
  path: '/vaults/collisions',
  summary: 'List secrets that are in more than one vault, by path or by equal value',
  description:
    'Only among the secrets you may see, and equal values among those you may read. These are found by a keyed digest; neither leaves the service.',
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
    total: Type.Integer({ description: 'How many there are on all pages.' }),
    complete: Type.Boolean({
      description:
        'False while digests are made anew under another key, as after an upgrade: some equal values may be missing. Ask again some minutes later. False too if a value is in more than 8,000 secrets and those looked at are all in one vault.',
    }),
    next_cursor: nextCursor,
  }),
  errors: [],
});
