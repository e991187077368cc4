import Type, { type Static } from 'typebox';
import { ANY_CALLER, ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { described, named } from '../../kernel/named-schemas.ts';
import {
  Deleted,
  freeText,
  id,
  idParam,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  pageQuery,
  resourceName,
  timestampText,
} from '../../kernel/wire.ts';

/** Levels from the root to the leaf. */
export const LEVELS_MAX = 10;
/** Secrets bound to one composed environment itself. */
export const BINDINGS_MAX = 500;
/** Secrets bound to a composed environment and to all it inherits from, which is the maximum that compose returns. */
export const EFFECTIVE_MAX = 1000;
/** Fifteen digits stay below 2^53. */
const NUMBER_MAX = 999_999_999_999_999;
export const KEY_NAME_PATTERN = '^[A-Za-z_][A-Za-z0-9_.-]{0,127}$';

const number = (description: string) => Type.Integer({ minimum: 1, maximum: NUMBER_MAX, description });
const keyName = Type.String({
  pattern: KEY_NAME_PATTERN,
  description: 'Under this name programs find the value: letters, digits, _ . -, at most 128, no digit first.',
});
const description = freeText(1024, 'What it is for.');
/** The parent under either of its two field names. */
const parentFields = (meaning: string) => ({
  parent_id: Type.Optional(nullable(number(meaning))),
  parent: Type.Optional(
    Type.Union([number('Its number.'), resourceName, Type.Null()], {
      description: 'The same by number or name. With both fields, they must name the same environment.',
    }),
  ),
});

export const Environment = named(
  'ComposedEnvironment',
  'Names bound to secrets, which programs get as one map. It is not the `environment` of a vault.',
  object({
    id: Type.Integer({ description: 'Its number.' }),
    tenant_id: id('tenant'),
    name: Type.String({ description: 'Its name.' }),
    parent_id: nullable(Type.Integer({ description: 'What it inherits from; null for a root.' })),
    description: Type.String({ description: 'What it is for.' }),
    created_at: timestampText,
    updated_at: timestampText,
  }),
);
export type Environment = Static<typeof Environment>;

export const Binding = named(
  'EnvironmentBinding',
  'A secret bound to a composed environment under a name.',
  object({
    environment_id: Type.Integer({ description: 'The composed environment.' }),
    secret_id: Type.Integer({ description: 'The secret, as an integer.' }),
    secret: id('sec'),
    key_name: Type.String({ description: 'The name.' }),
    bound_at: timestampText,
  }),
);
export type Binding = Static<typeof Binding>;

const ComposeSource = named(
  'ComposeSource',
  'A composed environment on the way from the root.',
  object({
    environment_id: Type.Integer({ description: 'Its number.' }),
    name: Type.String({ description: 'Its name.' }),
  }),
);

export const ComposeEntry = named(
  'ComposeEntry',
  'What a composed environment has under one name.',
  object({
    key_name: Type.String({ description: 'The name.' }),
    value_ref: Type.String({ description: '`secret:<secret_id>:v<version>`, the newest version.' }),
    source: Type.Array(ComposeSource, {
      description: 'From the root to the composed environment whose binding won.',
    }),
    value: Type.Optional(
      Type.String({ description: 'With `resolve`, if you may read the secret and it is no fortress secret.' }),
    ),
  }),
);
export type ComposeEntry = Static<typeof ComposeEntry>;

const environmentId = described('The number of a composed environment.', idParam);

const common = {
  noun: 'composed environments',
  nounDescription: 'Names bound to secrets of any vault, inherited from one another, which programs get as one map.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  query: NONE,
  body: NONE,
} as const;

const ofOne = {
  resource: 'environment/{environment_id}',
  params: object({ environment_id: environmentId }),
} as const;

export const listEnvironments = endpoint({
  ...common,
  name: 'listEnvironments',
  method: 'GET',
  path: '/environments',
  summary: 'List the composed environments of the tenant',
  description: 'Those from which others inherit, and those that inherit.',
  permission: 'environments:list',
  resource: 'environment',
  rate: 'read',
  audit: 'environments:list',
  effect: 'read',
  params: NONE,
  query: object(pageQuery),
  status: 200,
  output: object({ environments: Type.Array(Environment), next_cursor: nextCursor }),
  errors: [],
});

export const createEnvironment = endpoint({
  ...common,
  name: 'createEnvironment',
  method: 'POST',
  path: '/environments',
  summary: 'Make a composed environment',
  description:
    'Names bound to secrets of any vault, which programs get as one map. It is not the `environment` of a vault. It inherits what is bound to its ' +
    `parent and to all above, ${LEVELS_MAX} levels in all at most. Naming a parent takes the right to compose it.`,
  permission: 'environments:create',
  resource: 'environment',
  rate: 'write',
  audit: 'environments:create',
  effect: 'change',
  params: NONE,
  body: object({
    name: resourceName,
    ...parentFields('What it inherits from; a root without it.'),
    description: Type.Optional(description),
  }),
  status: 201,
  output: Environment,
  errors: ['ALREADY_EXISTS'],
});

export const readEnvironment = endpoint({
  ...common,
  ...ofOne,
  name: 'readEnvironment',
  method: 'GET',
  path: '/environments/{environment_id}',
  summary: 'Read a composed environment',
  description: 'By its number.',
  permission: 'environments:read',
  rate: 'read',
  audit: 'environments:read',
  effect: 'read',
  status: 200,
  output: Environment,
  errors: ['NOT_FOUND'],
});

export const updateEnvironment = endpoint({
  ...common,
  ...ofOne,
  name: 'updateEnvironment',
  method: 'PUT',
  path: '/environments/{environment_id}',
  summary: 'Rename, describe or move a composed environment',
  description:
    'What you leave out stays as it is. With `parent` or `parent_id` it moves, together with all below it; null makes it a root. Naming a new ' +
    'parent takes the right to compose that one.',
  permission: 'environments:update',
  rate: 'write',
  audit: 'environments:update',
  effect: 'change',
  body: objectWithExamples([{ name: 'payments-eu' }], {
    name: Type.Optional(resourceName),
    description: Type.Optional(description),
    ...parentFields('What it inherits from; null: nothing.'),
  }),
  status: 200,
  output: Environment,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'ENVIRONMENT_CYCLE'],
});

export const deleteEnvironment = endpoint({
  ...common,
  ...ofOne,
  name: 'deleteEnvironment',
  method: 'DELETE',
  path: '/environments/{environment_id}',
  summary: 'Remove a composed environment from which none inherits',
  description: 'Its bindings go with it; the secrets stay.',
  permission: 'environments:delete',
  rate: 'write',
  audit: 'environments:delete',
  effect: 'change',
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND', 'IN_USE'],
});

export const listBindings = endpoint({
  ...common,
  ...ofOne,
  name: 'listEnvironmentSecrets',
  method: 'GET',
  path: '/environments/{environment_id}/secrets',
  summary: 'List what is bound to a composed environment itself',
  description: 'Also bindings of deleted secrets, which count again when those are restored. Never values.',
  permission: 'environments:read',
  rate: 'read',
  audit: 'environments:list_secrets',
  effect: 'read',
  query: object(pageQuery),
  status: 200,
  output: object({ secrets: Type.Array(Binding), next_cursor: nextCursor }),
  errors: ['NOT_FOUND'],
});

export const bindSecret = endpoint({
  ...common,
  ...ofOne,
  name: 'bindEnvironmentSecret',
  method: 'POST',
  path: '/environments/{environment_id}/secrets',
  summary: 'Bind a secret to a composed environment under a name',
  description:
    `You must be able to see the secret in a list. It is bound once, and a name is given once; a composed environment takes ${BINDINGS_MAX} ` +
    `secrets, and ${EFFECTIVE_MAX} together with all it inherits from. The binding follows the secret when it is moved.`,
  permission: 'environments:bind',
  rate: 'write',
  audit: 'environments:bind',
  effect: 'change',
  body: object({
    secret_id: Type.Union([number('The integer `secret_id`.'), id('sec')], {
      description: 'A secret, by its integer `secret_id` or its `id`.',
    }),
    key_name: keyName,
  }),
  status: 201,
  output: Binding,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS'],
});

export const unbindSecret = endpoint({
  ...common,
  name: 'unbindEnvironmentSecret',
  method: 'DELETE',
  path: '/environments/{environment_id}/secrets/{secret_id}',
  summary: 'Take a secret out of a composed environment',
  description: 'By the integer `secret_id` or the `id` of the secret, which itself stays.',
  permission: 'environments:unbind',
  resource: 'environment/{environment_id}',
  rate: 'write',
  audit: 'environments:unbind',
  effect: 'change',
  params: object({
    environment_id: environmentId,
    secret_id: described('A secret, by its integer `secret_id` or its `id`.', idParam),
  }),
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

export const composeEnvironment = endpoint({
  ...common,
  credentials: ANY_CALLER,
  ...ofOne,
  name: 'composeEnvironment',
  method: 'GET',
  path: '/environments/{environment_id}/compose',
  summary: 'Everything a composed environment has, its own and inherited',
  description:
    'From the root down: on equal names the binding nearest to the one asked for wins. Deleted secrets count as absent. With `resolve`, ' +
    'entries whose secret you may read have their value, and each is recorded as read; if one of them is in a zero-knowledge vault, ' +
    'nothing is composed.',
  permission: 'environments:compose',
  rate: 'aggregate',
  bulk: true,
  plaintext: 'by_secret',
  audit: 'environments:compose',
  effect: 'read',
  query: object({ resolve: Type.Optional(Type.Boolean({ description: 'True: with values.' })) }),
  status: 200,
  output: object({
    environment_id: Type.Integer({ description: 'The one that was asked for.' }),
    name: Type.String({ description: 'Its name.' }),
    effective: Type.Record(Type.String({ pattern: KEY_NAME_PATTERN }), ComposeEntry, {
      description: `By \`key_name\`, in its order; at most ${EFFECTIVE_MAX}.`,
    }),
  }),
  errors: ['NOT_FOUND', 'ZkBoundaryViolation'],
});
