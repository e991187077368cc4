import Type, { type Static } from 'typebox';
import { EnvironmentNameSchema } from '../../kernel/authz/environment.ts';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import {
  idOrName,
  nextCursor,
  nullable,
  object,
  oneOf,
  pageQuery,
  resourceName,
  timestampText,
  userIdOrEmail,
} from '../../kernel/wire/wire.ts';
import { CREDENTIAL_TYPES, LINK_ACTIONS } from '../attack-paths/index.ts';
import { AllowedKind } from '../policies/index.ts';
import { pathText } from '../secrets/index.ts';
import { vaultName } from '../vaults/index.ts';

const AccessCredential = named(
  'AccessCredential',
  'A credential by which somebody could use the path.',
  object({
    type: oneOf(CREDENTIAL_TYPES, 'What kind of credential it is.'),
    id: Type.String({ description: 'Its id; empty for a password.' }),
    name: Type.String({ description: 'Its name, if it has one.' }),
    weakness: Type.Integer({ minimum: 0, maximum: 100, description: 'How weak it is, 100 being the weakest.' }),
    why: Type.String({ description: 'What its weakness consists of, as a sentence.' }),
  }),
);

export const AccessPath = named(
  'AccessPath',
  'One way by which somebody could read values.',
  object({
    principal: named(
      'AccessPathPrincipal',
      'Who could read.',
      object({
        kind: AllowedKind,
        id: Type.String({ description: 'Id of the user, or client id of the connection.' }),
        name: Type.String({ description: 'E-mail address or name.' }),
      }),
    ),
    credentials: Type.Array(AccessCredential, {
      description:
        'Those that reach this far, the weakest first: at most five tokens of a user, and what you may read.',
    }),
    group: nullable(
      named(
        'AccessPathGroup',
        'The group whose right it is.',
        object({
          id: Type.String({ description: 'Id of the group.' }),
          name: Type.String({ description: 'Name of the group.' }),
        }),
      ),
    ),
    grant: named(
      'AccessPathGrant',
      'What gives the right.',
      object({
        kind: oneOf(
          ['membership', 'access', 'role', 'policy', 'connection'],
          'A role in the vault, access for a time, a role in the tenant, an attached policy, or the limits of the connection itself.',
        ),
        name: Type.String({ description: 'The role, the name of the policy, or the name of the connection.' }),
        until: nullable(timestampText, 'When it ends by itself.'),
      }),
    ),
    vault: Type.String({ description: 'Name of the vault.' }),
    environment: nullable(EnvironmentNameSchema, 'Environment of the vault.'),
    path: nullable(Type.String({ description: 'Path of the secret; null if the path ends at the vault.' })),
  }),
);
export type AccessPath = Static<typeof AccessPath>;

export const listAccessPaths = endpoint({
  ...ORDINARY,
  noun: 'access-paths',
  aboutNoun: {
    title: 'Access paths',
    group: 'People',
    guide: ['risk', 'policies'],
    description: 'Who could read what, and what gives them the right.',
  },
  credentials: ANY_TOKEN,
  name: 'listAccessPaths',
  method: 'GET',
  path: '/v1/access-paths',
  summary: 'List the ways by which somebody could read values',
  description:
    'Each is a person or connection, a right of theirs, and the vault or secret that it opens by some request: from an allowed address, at an allowed time, with a second factor if one is required. The evaluator that decides requests decides here. With `vault` and `path` it says who can read a secret, with a principal what they can reach. Vaults and secrets that you may not see are left out. Of ways with a user, group, policy, membership or connection that you may not read about you learn only how many there are.',
  permission: 'access_paths:list',
  alsoAsks: [...LINK_ACTIONS, 'vaults:list', 'vaults:read'],
  resource: 'access-path/*',
  rate: 'aggregate',
  bulk: true,
  audit: 'access_paths:list',
  effect: 'read',
  params: NONE,
  query: object({
    depth: Type.Optional(
      oneOf(['vaults', 'secrets'], 'Whether ways end at a vault or at each of its secrets. Default: vaults.'),
    ),
    vault: Type.Optional(described('Only this vault.', vaultName)),
    path: Type.Optional(described('Only this secret of the vault. Implies `depth=secrets`.', pathText)),
    user: Type.Optional(described('Only ways of this user, by id or e-mail address.', userIdOrEmail)),
    app_connection: Type.Optional(described('Only ways of this connection, by number, client id or name.', idOrName)),
    group: Type.Optional(described('Only ways through this group, by id or name.', idOrName)),
    policy: Type.Optional(described('Only ways through this policy.', resourceName)),
    ...pageQuery,
  }),
  body: NONE,
  status: 200,
  output: object({
    access_paths: Type.Array(AccessPath, {
      description: 'By vault, then secret, then principal. Each request decides a bounded number of times.',
    }),
    hidden: Type.Integer({ description: 'How many ways this page leaves out because of a link that you may not see.' }),
    next_cursor: nextCursor,
  }),
  errors: [],
});
