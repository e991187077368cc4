import Type, { type Static } from 'typebox';
import { ANY_CALLER, ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  freeText,
  id,
  idOrName,
  idParam,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  oneOf,
  pageQuery,
  resourceName,
  timestampText,
} from '../../kernel/wire/wire.ts';
import { templateSchemas } from '../secrets/index.ts';
import { ENV_FILE_TYPE, permittedNames } from '../transfer/index.ts';

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
  description:
    'The name under which programs find the value: letters, digits, _ . -, at most 128 characters, not starting with a digit.',
});
const description = freeText(1024, 'The purpose of the composed environment.');
/** The parent under either of its two field names. */
const parentFields = (meaning: string) => ({
  parent_id: Type.Optional(nullable(number(meaning))),
  parent: Type.Optional(
    Type.Union([number('The number of the composed environment.'), resourceName, Type.Null()], {
      description:
        'The same by number or name. If both fields are sent, they must refer to the same composed environment.',
    }),
  ),
});

export const Environment = named(
  'ComposedEnvironment',
  'Names bound to secrets, which programs read as one map. It is not the `environment` of a vault.',
  object({
    id: Type.Integer({ description: 'The number of the composed environment.' }),
    tenant_id: id('tenant'),
    name: Type.String({ description: 'The name of the composed environment.' }),
    parent_id: nullable(Type.Integer({ description: 'The parent that it inherits from; null for a root.' })),
    description: Type.String({ description: 'The purpose of the composed environment.' }),
    created_at: timestampText,
    updated_at: timestampText,
  }),
);
export type Environment = Static<typeof Environment>;

export const Binding = named(
  'EnvironmentBinding',
  'A secret bound to a composed environment under a name.',
  object({
    environment_id: Type.Integer({ description: 'The number of the composed environment.' }),
    secret_id: Type.Integer({ description: 'The integer `secret_id` of the secret.' }),
    secret: id('sec'),
    vault: nullable(
      Type.String({ description: 'The vault of the secret; null if it is deleted, or you may not list it.' }),
    ),
    path: nullable(
      Type.String({ description: 'The path of the secret; null if it is deleted, or you may not list it.' }),
    ),
    key_name: Type.String({ description: 'The name that the secret is bound under.' }),
    bound_at: timestampText,
  }),
);
export type Binding = Static<typeof Binding>;

const ComposeSource = named(
  'ComposeSource',
  'A composed environment in the line of inheritance.',
  object({
    environment_id: Type.Integer({ description: 'The number of the composed environment.' }),
    name: Type.String({ description: 'The name of the composed environment.' }),
  }),
);

export const ComposeEntry = named(
  'ComposeEntry',
  'The effective binding of one name in a composed environment.',
  object({
    key_name: Type.String({ description: 'The name.' }),
    value_ref: Type.String({ description: '`secret:<secret_id>:v<version>`, the newest version.' }),
    source: Type.Array(ComposeSource, {
      description: 'From the root to the composed environment whose binding applies.',
    }),
    value: Type.Optional(
      Type.String({ description: 'Only with `resolve`, if you may read the secret and it is not a fortress secret.' }),
    ),
    parts: templateSchemas.templateParts,
    parts_version: templateSchemas.partsVersion,
    sealed: Type.Optional(
      Type.Literal(true, {
        description: 'The secret is in a zero-knowledge vault, and `value` is its envelope, which a client opens.',
      }),
    ),
  }),
);
export type ComposeEntry = Static<typeof ComposeEntry>;

const environmentId = described(
  'The number of a composed environment, or its name. A text of digits is a number, if there is one with that number.',
  idOrName,
);

const common = {
  ...ORDINARY,
  noun: 'composed environments',
  aboutNoun: {
    title: 'Composed environments',
    group: 'Secrets',
    guide: ['environments'],
    description: 'Names bound to secrets of any vault, which can be inherited and which programs read as one map.',
  },
  credentials: ANY_TOKEN,
  query: NONE,
  body: NONE,
} as const;

const ofOne = {
  // Policies name it by number, so a name is looked up first.
  resource: 'loaded',
  loads: ['environment/{environment_id}'],
  params: object({ environment_id: environmentId }),
} as const;

export const listEnvironments = endpoint({
  ...common,
  name: 'listEnvironments',
  method: 'GET',
  path: '/environments',
  summary: 'List the composed environments of the tenant',
  description: 'Includes parents and children.',
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
  summary: 'Create a composed environment',
  description:
    'Names bound to secrets of any vault, which programs read as one map; it is not the `environment` of a vault. It inherits the bindings of its ' +
    `parent and of all environments above it, ${LEVELS_MAX} levels at most. Setting a parent requires \`environments:compose\` on it.`,
  permission: 'environments:create',
  resource: 'environment',
  rate: 'write',
  audit: 'environments:create',
  effect: 'change',
  params: NONE,
  body: object({
    name: resourceName,
    ...parentFields('The parent that it inherits from; omitted or null: a root.'),
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
  description: 'By its number or name.',
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
    'Omitted fields are unchanged. `parent` or `parent_id` moves it with everything below it; null makes it a root. Setting a new ' +
    'parent requires `environments:compose` on it.',
  permission: 'environments:update',
  rate: 'write',
  audit: 'environments:update',
  effect: 'change',
  body: objectWithExamples([{ name: 'payments-eu' }], {
    name: Type.Optional(resourceName),
    description: Type.Optional(description),
    ...parentFields('The parent that it inherits from; null: none.'),
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
  summary: 'Delete a composed environment from which none inherits',
  description: 'Its bindings are deleted; the secrets are not.',
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
  summary: 'List the bindings of a composed environment itself',
  description:
    'Includes bindings of deleted secrets, which apply again when the secrets are restored. Never includes values.',
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
    `You must be able to see the secret in a list. Each secret and each name can be bound once; a composed environment can have ${BINDINGS_MAX} ` +
    `secrets of its own, and ${EFFECTIVE_MAX} including inherited ones. The binding follows the secret when it is moved.`,
  permission: 'environments:bind',
  rate: 'write',
  audit: 'environments:bind',
  effect: 'change',
  body: object({
    secret_id: Type.Union([number('The integer `secret_id` of the secret.'), id('sec')], {
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
  summary: 'Unbind a secret from a composed environment',
  description: 'By the integer `secret_id` or the `id` of the secret. The secret itself is not deleted.',
  permission: 'environments:unbind',
  resource: 'loaded',
  loads: ['environment/{environment_id}'],
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

export const Composition = named(
  'Composition',
  'What is in effect in a composed environment.',
  object({
    environment_id: Type.Integer({ description: 'The number of the composed environment.' }),
    name: Type.String({ description: 'The name of the composed environment.' }),
    effective: Type.Record(Type.String({ pattern: KEY_NAME_PATTERN }), ComposeEntry, {
      description: `Sorted by \`key_name\`; at most ${EFFECTIVE_MAX}.`,
    }),
  }),
);

const ComposedValues = named(
  'ComposedValues',
  'The values of a composed environment by name, as `format=json` returns them.',
  Type.Record(Type.String({ pattern: KEY_NAME_PATTERN }), Type.String(), { description: 'Values by name.' }),
);

const ComposeAnswer = named(
  'ComposeAnswer',
  'What is in effect; with `format=json` values by name alone.',
  Type.Union([Composition, ComposedValues]),
);

export const composeEnvironment = endpoint({
  ...common,
  credentials: ANY_CALLER,
  ...ofOne,
  name: 'composeEnvironment',
  method: 'GET',
  path: '/environments/{environment_id}/compose',
  summary: 'List all secrets of a composed environment, its own and inherited',
  description:
    'If a name is bound more than once, the binding nearest to this environment applies. Deleted secrets are omitted. With `resolve`, ' +
    'entries whose secret you may read include its value, and each is recorded as read; of a zero-knowledge secret it is the envelope, ' +
    'with `sealed`. A template has its value if you may read all that it refers to and it can be resolved. With `format`, which requires `resolve`, the response is names and values alone, as a .env file, for shells, or as a JSON object; it is refused ' +
    'unless you may read every value, none is sealed or of a fortress secret, and every reader of the format gets the same value.',
  permission: 'environments:compose',
  rate: 'aggregate',
  bulk: true,
  plaintext: 'by_secret',
  audit: 'environments:compose',
  effect: 'read',
  query: object({
    resolve: Type.Optional(Type.Boolean({ description: 'Whether to include values.' })),
    format: Type.Optional(oneOf(['dotenv', 'json', 'shell'], 'Only names and values, in this format.')),
    key_name: Type.Optional(
      Type.String({ pattern: KEY_NAME_PATTERN, description: 'Only this name, so that no other value is read.' }),
    ),
    permit: Type.Optional(permittedNames),
  }),
  status: 200,
  output: NONE,
  raw: 'application/json; charset=utf-8',
  otherRaw: [ENV_FILE_TYPE],
  rawSchema: ComposeAnswer,
  errors: ['NOT_FOUND', 'ZkBoundaryViolation', 'TEMPLATE_UNRESOLVED'],
});
