import Type from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described } from '../../kernel/wire/named-schemas.ts';
import { idParam, nextCursor, nullable, object, pageQuery, timestampText } from '../../kernel/wire/wire.ts';
import { AttackPath, LINK_ACTIONS } from './schemas.ts';

const common = {
  ...ORDINARY,
  noun: 'attack-paths',
  aboutNoun: {
    title: 'Attack paths',
    group: 'People',
    guide: ['risk'],
    description: 'The weakest ways from somebody’s credential to a secret.',
  },
  credentials: ANY_TOKEN,
  params: NONE,
  query: NONE,
  body: NONE,
} as const;

export const listAttackPaths = endpoint({
  ...common,
  name: 'listAttackPaths',
  method: 'GET',
  path: '/attack-paths',
  summary: 'List attack paths, the worst first',
  description:
    'At most 100 for a tenant, found daily and by `recompute`. Leaves out paths with a link that you may not read about: a user, token, group, policy, connection or secret.',
  permission: 'attack_paths:list',
  alsoAsks: LINK_ACTIONS,
  resource: 'attack-path/*',
  rate: 'read',
  audit: 'attack_paths:list',
  effect: 'read',
  query: object({ ...pageQuery }),
  status: 200,
  output: object({
    attack_paths: Type.Array(AttackPath),
    computed_at: nullable(timestampText, 'When they were last found; null before the first time.'),
    next_cursor: nextCursor,
  }),
  errors: [],
});

export const readAttackPath = endpoint({
  ...common,
  name: 'readAttackPath',
  method: 'GET',
  path: '/attack-paths/{attack_path_id}',
  summary: 'Read an attack path',
  description: 'The same chain has the same id each time it is found. A path that is no longer found is gone.',
  permission: 'attack_paths:read',
  alsoAsks: LINK_ACTIONS,
  resource: 'attack-path/{attack_path_id}',
  rate: 'read',
  audit: 'attack_paths:read',
  effect: 'read',
  params: object({ attack_path_id: described('The id of an attack path.', idParam) }),
  status: 200,
  output: AttackPath,
  errors: ['NOT_FOUND'],
});

export const recomputeAttackPaths = endpoint({
  ...common,
  name: 'recomputeAttackPaths',
  method: 'POST',
  path: '/attack-paths/recompute',
  summary: 'Find attack paths anew',
  description:
    'Computes the risks of all secrets first. It begins within seconds and runs in the background; `computed_at` of the list says when it was done.',
  permission: 'attack_paths:recompute',
  resource: 'attack-path/*',
  rate: 'write',
  audit: 'attack_paths:recompute',
  effect: 'change',
  status: 200,
  output: object({
    status: Type.Literal('scheduled', { description: 'It begins within seconds.' }),
    requested_at: timestampText,
  }),
  errors: [],
});
