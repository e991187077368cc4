import Type, { type Static } from 'typebox';
import { ENVIRONMENTS, environmentText } from '../../kernel/authz/environment.ts';
import { ANY_CALLER, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import {
  Deleted,
  freeText,
  id,
  lineOfText,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  oneOf,
  pageQuery,
  timestampText,
} from '../../kernel/wire.ts';
import { Tags, tagText, vaultName } from '../vaults/index.ts';

export const VALUE_BYTES_MAX = 1024 * 1024;
/** In JSON a byte may take six characters (`\u0001`). */
export const VALUE_BODY_BYTES_MAX = 6 * VALUE_BYTES_MAX + BODY_BYTES_DEFAULT;
/** Beside description, owner and tags. */
export const METADATA_KEYS_MAX = 64;
export const METADATA_BYTES_MAX = 4096;
export const PROTECTIONS = ['standard', 'fortress'] as const;
export const OPERATIONS = ['create', 'update', 'rotate', 'rollback', 'promote', 'copy'] as const;

/** The form is checked by the rules of paths, with their reasons; this only bounds it. */
export const pathText = Type.String({ minLength: 1, maxLength: 1024, description: 'segment/segment/…' });
const typeText = Type.String({
  pattern: '^[a-z][a-z0-9_]{0,63}$',
  description: 'api_key, password, token, database, …',
});
const value = Type.String({
  maxLength: VALUE_BYTES_MAX,
  description: 'At most 1 MiB; may be empty where the type has no rule against it.',
});
const reason = lineOfText({ maxLength: 512 }, 'Why; kept with the version.');

const furtherText = freeText(1024, 'Anything else.');
const METADATA_FORM = { maxProperties: METADATA_KEYS_MAX + 3, propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,64}$' } };

const MetadataInput = Type.Object(
  {
    description: Type.Optional(freeText(1024, 'What it is.')),
    owner: Type.Optional(lineOfText({ maxLength: 254 }, 'Who answers for it.')),
    tags: Type.Optional(Tags),
  },
  { ...METADATA_FORM, additionalProperties: furtherText },
);
export type MetadataInput = Static<typeof MetadataInput>;

/** Of a change: what is left out stays as it is. */
const MetadataChange = Type.Object(
  {
    description: Type.Optional(nullable(MetadataInput.properties.description)),
    owner: Type.Optional(nullable(MetadataInput.properties.owner)),
    tags: Type.Optional(nullable(Tags)),
  },
  {
    ...METADATA_FORM,
    additionalProperties: nullable(furtherText),
    description: 'Keys given replace, null removes, others stay.',
  },
);
export type MetadataChange = Static<typeof MetadataChange>;

const Metadata = Type.Object(
  { tags: Type.Array(Type.String()), description: Type.Optional(Type.String()), owner: Type.Optional(Type.String()) },
  { additionalProperties: Type.String() },
);
export type Metadata = Static<typeof Metadata>;

/** How a new value is made. What is left out is as the secret's type has it. */
export const Generator = object({
  length: Type.Optional(
    Type.Integer({ minimum: 8, maximum: 512, description: 'Random characters, not counting the prefix.' }),
  ),
  charset: Type.Optional(
    oneOf(
      ['alphanumeric', 'ascii', 'hex', 'base64url', 'digits'],
      'Which characters; `ascii` is letters, digits and `-._~`, beginning with a letter or digit.',
    ),
  ),
  prefix: Type.Optional(
    Type.String({ maxLength: 32, pattern: '^[A-Za-z0-9_.-]*$', description: 'What the value begins with.' }),
  ),
  require_each_class: Type.Optional(
    Type.Boolean({ description: 'At least one of each class of the charset: lower case, upper case, digit, symbol.' }),
  ),
});
export type Generator = Static<typeof Generator>;

export const Rotation = object({
  interval_days: Type.Integer({ minimum: 1, maximum: 3650 }),
  generator: Type.Optional(Generator),
  backend: Type.Optional(
    object({
      kind: oneOf(
        ['postgres_role'],
        'postgres_role: changes the password of the role in the value of a database secret.',
      ),
    }),
  ),
});
export type Rotation = Static<typeof Rotation>;

const summary = {
  id: id('sec'),
  secret_id: Type.Integer({ description: 'The same secret as an integer.' }),
  path: Type.String(),
  type: Type.String(),
  environment: oneOf(ENVIRONMENTS),
  protection: oneOf(PROTECTIONS),
  version: Type.Integer(),
  metadata: Metadata,
  created_at: timestampText,
  updated_at: timestampText,
  rotated_at: nullable(timestampText),
  next_rotation: nullable(timestampText),
};
const SecretSummary = object(summary);
export type SecretSummary = Static<typeof SecretSummary>;

const ListedSecret = object({
  ...summary,
  metadata: nullable({
    ...Metadata,
    description: 'Null where you may list the secret, but read neither it nor its metadata.',
  }),
  deleted_at: Type.Optional({ ...timestampText, description: 'Only of what is deleted.' }),
});
export type ListedSecret = Static<typeof ListedSecret>;

export const Secret = object({
  ...summary,
  vault: Type.String(),
  rotation: nullable(Rotation),
  rotation_status: nullable(
    object({
      rotation_id: id('rotation'),
      status: oneOf(['in_progress', 'completed', 'failed']),
      failure: Type.String(),
    }),
  ),
});
export type Secret = Static<typeof Secret>;

const SecretWithValue = object({ ...Secret.properties, value: Type.String() });

/** What a 32-bit column holds. */
export const VERSION_MAX = 2 ** 31 - 1;
const versionNumber = Type.Integer({ minimum: 1, maximum: VERSION_MAX });
const vaultParam = object({ vault: vaultName });
const secretParams = object({ vault: vaultName, path: pathText });
const expectedVersion = Type.Optional(
  Type.Integer({
    minimum: 1,
    description: 'Only if this is still the newest version; `If-Match: "v3"` says the same.',
  }),
);

const common = {
  noun: 'secrets',
  credentials: ANY_CALLER,
  tenant: 'own',
  resource: 'loaded',
  loads: ['vault/{vault}', 'vault/{vault}/{path*}'],
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  query: NONE,
  body: NONE,
} as const;

const reading = { ...common, method: 'GET', rate: 'read', effect: 'read', status: 200 } as const;
const changing = { ...common, rate: 'write', effect: 'change', params: secretParams, status: 200 } as const;
const MISSING = ['VAULT_NOT_FOUND', 'SECRET_NOT_FOUND'] as const;
const FITTING = ['VAULT_ENV_CONFLICT', 'VAULT_ENV_PROMOTE_REQUIRED', 'SECRET_ALREADY_EXISTS'] as const;

export const listSecrets = endpoint({
  ...reading,
  name: 'listSecrets',
  path: '/v1/vaults/{vault}/secrets',
  summary: 'List the secrets you may see, without values',
  description:
    'Ordered by path, however deep; deleted ones in no order. A page may hold fewer than asked for and still have a next one.',
  permission: 'secrets:list',
  audit: 'secrets:list',
  params: vaultParam,
  query: object({
    prefix: Type.Optional(Type.String({ maxLength: 1024, description: 'Only paths that begin with this text.' })),
    tags: Type.Optional(Type.Array(tagText, { maxItems: 8, description: 'Only secrets with all of these.' })),
    type: Type.Optional(typeText),
    rotation: Type.Optional(oneOf(['failed'], 'failed: only those whose latest rotation through a backend failed.')),
    deleted: Type.Optional(
      Type.Boolean({
        description: 'true: those that are deleted and can be restored, instead of those that are there.',
      }),
    ),
    ...pageQuery,
  }),
  output: object({ secrets: Type.Array(ListedSecret), next_cursor: nextCursor }),
  errors: ['VAULT_NOT_FOUND'],
});

export const createSecret = endpoint({
  ...changing,
  name: 'createSecret',
  method: 'POST',
  path: '/v1/vaults/{vault}/secrets',
  summary: 'Make a secret',
  permission: 'secrets:create',
  audit: 'secrets:create',
  plaintext: true,
  bodyBytesMax: VALUE_BODY_BYTES_MAX,
  params: vaultParam,
  body: objectWithExamples([{ path: 'database/password', value: 's3cr3t' }], {
    path: pathText,
    type: Type.Optional(typeText),
    value: Type.Optional(value),
    generator: Type.Optional(Generator),
    metadata: Type.Optional(MetadataInput),
    environment: Type.Optional(environmentText),
    protection: Type.Optional(oneOf(PROTECTIONS, 'fortress: its own key, and a fresh second factor for each use.')),
    promote: Type.Optional(Type.Boolean()),
    rotation: Type.Optional(Rotation),
    reason: Type.Optional(reason),
  }),
  status: 201,
  output: Secret,
  errors: ['VAULT_NOT_FOUND', 'MFA_REQUIRED', 'ROTATION_NOT_CONFIGURED', 'ZkBoundaryViolation', ...FITTING],
});

export const readSecret = endpoint({
  ...reading,
  name: 'readSecret',
  path: '/v1/vaults/{vault}/secrets/{path*}',
  summary: 'Read a secret, decrypted',
  permission: 'secrets:read',
  audit: 'secrets:read',
  plaintext: true,
  params: secretParams,
  query: object({ version: Type.Optional(versionNumber) }),
  output: SecretWithValue,
  errors: [...MISSING, 'VERSION_NOT_FOUND', 'MFA_REQUIRED'],
});

export const updateSecret = endpoint({
  ...changing,
  name: 'updateSecret',
  ifMatch: true,
  method: 'PUT',
  path: '/v1/vaults/{vault}/secrets/{path*}',
  summary: 'Change a secret’s value, metadata or rotation; each change is a new version',
  permission: 'secrets:update',
  audit: 'secrets:update',
  plaintext: true,
  bodyBytesMax: VALUE_BODY_BYTES_MAX,
  body: object({
    value: Type.Optional(value),
    metadata: Type.Optional(MetadataChange),
    rotation: Type.Optional(nullable(Rotation)),
    reason: Type.Optional(reason),
    expected_version: expectedVersion,
  }),
  output: Secret,
  errors: [
    ...MISSING,
    'VERSION_CONFLICT',
    'ROTATION_IN_PROGRESS',
    'ROTATION_NOT_CONFIGURED',
    'MFA_REQUIRED',
    'ZkBoundaryViolation',
  ],
});

export const deleteSecret = endpoint({
  ...changing,
  name: 'deleteSecret',
  ifMatch: true,
  method: 'DELETE',
  path: '/v1/vaults/{vault}/secrets/{path*}',
  summary: 'Delete a secret; it can be restored while the plan keeps it',
  permission: 'secrets:delete',
  audit: 'secrets:delete',
  output: object({
    ...Deleted.properties,
    id: id('sec'),
    path: Type.String(),
    deleted_at: timestampText,
    purge_at: timestampText,
  }),
  errors: [...MISSING, 'VERSION_CONFLICT', 'ROTATION_IN_PROGRESS', 'MFA_REQUIRED'],
});

export const restoreSecret = endpoint({
  ...changing,
  name: 'restoreSecret',
  method: 'POST',
  path: '/v1/vaults/{vault}/secrets/{path*}/restore',
  summary: 'Undo the latest deletion at this path, or that of one secret',
  permission: 'secrets:restore',
  audit: 'secrets:restore',
  body: objectWithExamples([{}], {
    secret_id: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), id('sec')], {
        description:
          'Which of those that were deleted at this path, by its integer `secret_id` or its `id`; the latest unless given.',
      }),
    ),
  }),
  output: Secret,
  errors: [...MISSING, 'SECRET_ALREADY_EXISTS', 'MFA_REQUIRED'],
});

export const listVersions = endpoint({
  ...reading,
  name: 'listSecretVersions',
  path: '/v1/vaults/{vault}/secrets/{path*}/versions',
  summary: 'List the versions of a secret, newest first',
  permission: 'secrets:read_metadata',
  audit: 'secrets:read_metadata',
  params: secretParams,
  query: object(pageQuery),
  output: object({
    versions: Type.Array(
      object({
        version: Type.Integer(),
        operation: oneOf(OPERATIONS),
        reason: Type.String(),
        restored_from: nullable(Type.Integer()),
        author: object({ kind: Type.String(), id: Type.String(), name: Type.String() }),
        metadata: Metadata,
        created_at: timestampText,
        is_current: Type.Boolean(),
      }),
    ),
    next_cursor: nextCursor,
  }),
  errors: [...MISSING],
});

export const rotateSecret = endpoint({
  ...changing,
  name: 'rotateSecret',
  ifMatch: true,
  method: 'POST',
  path: '/v1/vaults/{vault}/secrets/{path*}/rotate',
  summary: 'Replace the value now',
  description:
    'With `value`, by that; else by a `generator`, the secret’s own rotation, or the built-in one of its type.',
  permission: 'secrets:rotate',
  rate: 'rotate',
  audit: 'secrets:rotate',
  plaintext: true,
  bodyBytesMax: VALUE_BODY_BYTES_MAX,
  body: objectWithExamples([{ generator: { length: 32, charset: 'alphanumeric' }, reason: 'Quarterly' }], {
    reason: Type.Optional(reason),
    value: Type.Optional(value),
    generator: Type.Optional(Generator),
    expected_version: expectedVersion,
  }),
  output: object({
    rotation_id: id('rotation'),
    status: oneOf(['completed', 'in_progress']),
    version: Type.Integer({ description: 'The newest version; while it is in progress, still the old one.' }),
    rotated_at: nullable(timestampText),
    next_rotation: nullable(timestampText),
  }),
  errors: [
    ...MISSING,
    'VERSION_CONFLICT',
    'ROTATION_IN_PROGRESS',
    'ROTATION_NOT_CONFIGURED',
    'MFA_REQUIRED',
    'ZkBoundaryViolation',
  ],
});

export const rollbackSecret = endpoint({
  ...changing,
  name: 'rollbackSecret',
  ifMatch: true,
  method: 'POST',
  path: '/v1/vaults/{vault}/secrets/{path*}/rollback',
  summary: 'Make an older version the basis again, as a new version',
  permission: 'secrets:rollback',
  audit: 'secrets:rollback',
  body: object({
    to_version: versionNumber,
    reason: Type.Optional(reason),
    expected_version: expectedVersion,
  }),
  output: object({ ...Secret.properties, restored_from: Type.Integer() }),
  errors: [...MISSING, 'VERSION_NOT_FOUND', 'VERSION_CONFLICT', 'ROTATION_IN_PROGRESS', 'MFA_REQUIRED'],
});

const relocation = {
  ...changing,
  method: 'POST',
  body: object({
    to_vault: Type.Optional(vaultName),
    to_path: pathText,
    promote: Type.Optional(Type.Boolean()),
    value: Type.Optional({
      ...value,
      description:
        'In a zero-knowledge vault, and needed there: the value, sealed anew for the vault and path it goes to.',
    }),
  }),
  bodyBytesMax: VALUE_BODY_BYTES_MAX,
  output: Secret,
  errors: [...MISSING, ...FITTING, 'ROTATION_IN_PROGRESS', 'MFA_REQUIRED', 'ZkBoundaryViolation'],
} as const;

export const moveSecret = endpoint({
  ...relocation,
  name: 'moveSecret',
  ifMatch: true,
  path: '/v1/vaults/{vault}/secrets/{path*}/move',
  summary: 'Move a secret with its history, without reading it',
  description:
    'Needs secrets:move here and secrets:create there; who may not read it here must not be able to there. In a zero-knowledge vault `value` becomes the next version.',
  permission: 'secrets:move',
  audit: 'secrets:move',
  errors: [...relocation.errors, 'VERSION_CONFLICT'],
});

export const copySecret = endpoint({
  ...relocation,
  name: 'copySecret',
  path: '/v1/vaults/{vault}/secrets/{path*}/copy',
  summary: 'Copy the newest version of a secret, without reading it',
  description:
    'Needs secrets:copy here and secrets:create there; who may not read it here must not be able to there. In a zero-knowledge vault `value` becomes the first version.',
  permission: 'secrets:copy',
  audit: 'secrets:copy',
  status: 201,
});
