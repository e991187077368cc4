import Type from 'typebox';
import { environmentText } from '../../kernel/authz/environment.ts';
import { ANY_CALLER, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  id,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  oneOf,
  pageQuery,
  timeFilter,
  timestampText,
} from '../../kernel/wire/wire.ts';
import { tagText } from '../vaults/index.ts';
import {
  CHANGES_MAX,
  ChangedSecret,
  expectedVersion,
  expiresAt,
  Generator,
  ListedSecret,
  MetadataChange,
  MetadataInput,
  Protection,
  pathText,
  Rotation,
  RotationProgress,
  reason,
  referredBy,
  resolve,
  Secret,
  SecretChangeInput,
  SecretRelocation,
  SecretVersion,
  SecretWithValue,
  secretNames,
  secretParams,
  typeText,
  VALUE_BODY_BYTES_MAX,
  value,
  vaultParam,
  versionNumber,
} from './schemas.ts';

export * from './schemas.ts';

const common = {
  ...ORDINARY,
  noun: 'secrets',
  aboutNoun: {
    title: 'Secrets',
    group: 'Secrets',
    guide: ['secrets', 'rotation', 'risk'],
    description: 'Values with their versions: stored, read, rotated, moved, searched.',
  },
  credentials: ANY_CALLER,
  resource: 'loaded',
  loads: ['vault/{vault}', 'vault/{vault}/{path*}'],
  query: NONE,
  body: NONE,
} as const;

const reading = { ...common, method: 'GET', rate: 'read', effect: 'read', status: 200 } as const;
const changing = {
  ...common,
  rate: 'write',
  effect: 'change',
  approval: 'secret_change',
  alsoAsks: ['changes:bypass'],
  params: secretParams,
  status: 200,
} as const;
const MISSING = ['VAULT_NOT_FOUND', 'SECRET_NOT_FOUND'] as const;
const FITTING = ['VAULT_ENV_CONFLICT', 'VAULT_ENV_PROMOTE_REQUIRED', 'SECRET_ALREADY_EXISTS'] as const;

export const listSecrets = endpoint({
  ...reading,
  name: 'listSecrets',
  path: '/v1/vaults/{vault}/secrets',
  summary: 'List the secrets you may see, without values',
  description:
    'Ordered by path, at any depth; deleted secrets are in no particular order. A page may hold fewer items than `limit` even if there is a next page.',
  permission: 'secrets:list',
  audit: 'secrets:list',
  params: vaultParam,
  query: object({
    prefix: Type.Optional(Type.String({ maxLength: 1024, description: 'Only paths that start with this text.' })),
    tags: Type.Optional(Type.Array(tagText, { maxItems: 8, description: 'Only secrets with all of these tags.' })),
    type: Type.Optional(typeText),
    rotation: Type.Optional(oneOf(['failed'], 'failed: only secrets whose latest rotation through a backend failed.')),
    expires_before: timeFilter('Only secrets whose value ends before this time, or has ended.'),
    deleted: Type.Optional(
      Type.Boolean({
        description: 'If true, lists deleted secrets that can be restored, instead of existing ones.',
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
  summary: 'Create a secret',
  description: 'Send a `value`, or a `generator` that creates one. The secret starts at version 1.',
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
    protection: Type.Optional(Protection),
    promote: Type.Optional(
      Type.Boolean({
        description: 'Allows a secret without an environment in a production vault; it becomes a production secret.',
      }),
    ),
    rotation: Type.Optional(Rotation),
    expires_at: Type.Optional(expiresAt),
    reason: Type.Optional(reason),
  }),
  status: 201,
  output: Secret,
  errors: [
    'QUOTA_EXCEEDED',
    'VAULT_NOT_FOUND',
    'MFA_REQUIRED',
    'ROTATION_NOT_CONFIGURED',
    'ZkBoundaryViolation',
    ...FITTING,
  ],
});

export const readSecret = endpoint({
  ...reading,
  name: 'readSecret',
  path: '/v1/vaults/{vault}/secrets/{path*}',
  summary: 'Read a secret with its value',
  description:
    'Returns the newest version unless `version` is given. A fortress secret requires a recent second factor. A secret of type `template` is returned with the newest values that it refers to, which requires the same permission on each of them; `resolve=false` returns it as it is written.',
  permission: 'secrets:read',
  audit: 'secrets:read',
  plaintext: true,
  params: secretParams,
  query: object({
    version: Type.Optional(described('The version to read; default: the newest.', versionNumber)),
    resolve,
  }),
  output: SecretWithValue,
  errors: [...MISSING, 'VERSION_NOT_FOUND', 'MFA_REQUIRED', 'TEMPLATE_UNRESOLVED'],
});

export const updateSecret = endpoint({
  ...changing,
  name: 'updateSecret',
  ifMatch: true,
  method: 'PUT',
  path: '/v1/vaults/{vault}/secrets/{path*}',
  summary: 'Change a secret’s value, type, protection, metadata or rotation; each change is a new version',
  description:
    'Omitted fields are unchanged, but a new value has no end unless `expires_at` is sent with it. Another `type` requires a `value`, which is checked by its rules, and a rotation that fits it. `protection` can only be raised to `fortress`, with the second factor that a fortress secret requires; older versions are protected too. `expected_version` or `If-Match` protects against lost updates.',
  permission: 'secrets:update',
  audit: 'secrets:update',
  plaintext: true,
  bodyBytesMax: VALUE_BODY_BYTES_MAX,
  body: object({
    value: Type.Optional(value),
    type: Type.Optional(typeText),
    protection: Type.Optional(Protection),
    metadata: Type.Optional(MetadataChange),
    rotation: Type.Optional(nullable(Rotation)),
    expires_at: Type.Optional(nullable(expiresAt, 'When the value ends; null removes the end.')),
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
  summary: 'Delete a secret; it can be restored until the plan’s retention ends',
  description: 'Its path can be reused immediately. It can be restored until `purge_at`.',
  permission: 'secrets:delete',
  audit: 'secrets:delete',
  output: object({
    ...Deleted.properties,
    id: id('sec'),
    path: Type.String({ description: 'The path of the deleted secret.' }),
    deleted_at: timestampText,
    purge_at: timestampText,
    referred_by: referredBy,
  }),
  errors: [...MISSING, 'VERSION_CONFLICT', 'ROTATION_IN_PROGRESS', 'MFA_REQUIRED'],
});

export const restoreSecret = endpoint({
  ...changing,
  name: 'restoreSecret',
  method: 'POST',
  path: '/v1/vaults/{vault}/secrets/{path*}/restore',
  summary: 'Restore the most recently deleted secret at this path, or a specific one',
  description: 'Restores all its versions. Fails if another secret now exists at its path.',
  permission: 'secrets:restore',
  audit: 'secrets:restore',
  body: objectWithExamples([{}], {
    secret_id: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), id('sec')], {
        description:
          'Which of the secrets deleted at this path, by its integer `secret_id` or its `id`; default: the most recently deleted.',
      }),
    ),
  }),
  output: Secret,
  errors: ['QUOTA_EXCEEDED', ...MISSING, 'SECRET_ALREADY_EXISTS', 'MFA_REQUIRED'],
});

export const listVersions = endpoint({
  ...reading,
  name: 'listSecretVersions',
  path: '/v1/vaults/{vault}/secrets/{path*}/versions',
  summary: 'List the versions of a secret, newest first',
  description: 'Shows who created each version, when and why; never values.',
  permission: 'secrets:read_metadata',
  audit: 'secrets:read_metadata',
  params: secretParams,
  query: object(pageQuery),
  output: object({
    versions: Type.Array(SecretVersion),
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
  summary: 'Rotate a secret now',
  description:
    'Uses `value` if given; otherwise `generator`, the secret’s configured rotation, or the default generator of its type. The new value has no end unless `expires_at` gives one.',
  permission: 'secrets:rotate',
  rate: 'rotate',
  audit: 'secrets:rotate',
  plaintext: true,
  bodyBytesMax: VALUE_BODY_BYTES_MAX,
  body: objectWithExamples([{ generator: { length: 32, charset: 'alphanumeric' }, reason: 'Quarterly' }], {
    reason: Type.Optional(reason),
    value: Type.Optional(value),
    generator: Type.Optional(Generator),
    expires_at: Type.Optional(expiresAt),
    expected_version: expectedVersion,
  }),
  output: object({
    rotation_id: id('rotation'),
    status: RotationProgress,
    version: Type.Integer({ description: 'The newest version; while the rotation is in progress, still the old one.' }),
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
  summary: 'Roll back to an older version, by creating a new version',
  description:
    'The new version has the value and the type of `to_version`; no version is lost. A rotation that does not fit that type is refused.',
  permission: 'secrets:rollback',
  audit: 'secrets:rollback',
  body: object({
    to_version: described('The version to roll back to.', versionNumber),
    reason: Type.Optional(reason),
    expected_version: expectedVersion,
  }),
  output: object({
    ...Secret.properties,
    restored_from: Type.Integer({ description: 'The version whose value was restored.' }),
  }),
  errors: [
    ...MISSING,
    'VERSION_NOT_FOUND',
    'VERSION_CONFLICT',
    'ROTATION_IN_PROGRESS',
    'ROTATION_NOT_CONFIGURED',
    'MFA_REQUIRED',
  ],
});

const relocation = {
  ...changing,
  method: 'POST',
  body: SecretRelocation,
  bodyBytesMax: VALUE_BODY_BYTES_MAX,
  output: Secret,
  errors: [...MISSING, ...FITTING, 'ROTATION_IN_PROGRESS', 'MFA_REQUIRED', 'REVIEW_REQUIRED', 'ZkBoundaryViolation'],
} as const;

export const moveSecret = endpoint({
  ...relocation,
  name: 'moveSecret',
  ifMatch: true,
  path: '/v1/vaults/{vault}/secrets/{path*}/move',
  summary: 'Move a secret with its history, without reading it',
  description:
    'Requires secrets:move on the source and secrets:create on the destination. If you cannot read the secret at the source, the destination must not make it readable to you. In a zero-knowledge vault `value` becomes the next version.',
  permission: 'secrets:move',
  audit: 'secrets:move',
  output: object({ ...Secret.properties, referred_by: referredBy }),
  errors: [...relocation.errors, 'VERSION_CONFLICT'],
});

export const copySecret = endpoint({
  ...relocation,
  name: 'copySecret',
  errors: ['QUOTA_EXCEEDED', ...relocation.errors],
  path: '/v1/vaults/{vault}/secrets/{path*}/copy',
  summary: 'Copy the newest version of a secret, without reading it',
  description:
    'Requires secrets:copy on the source and secrets:create on the destination. If you cannot read the secret at the source, the destination must not make it readable to you. In a zero-knowledge vault `value` becomes the first version.',
  permission: 'secrets:copy',
  audit: 'secrets:copy',
  status: 201,
});

export const readReferences = endpoint({
  ...reading,
  name: 'readReferences',
  path: '/v1/vaults/{vault}/references/{path*}',
  summary: 'What a secret refers to, and which templates refer to it',
  description: 'Shows no values. What a template refers to is in its value, so it is shown to callers who may read it.',
  permission: 'secrets:read_metadata',
  audit: 'secrets:read_metadata',
  params: secretParams,
  output: object({
    refers_to: nullable(
      secretNames('What the template refers to, by the names in its text. Empty for other secrets.'),
      'Null if you may not read the secret.',
    ),
    referred_by: secretNames('Templates that refer to it, of which you may see the metadata; at most 100.'),
  }),
  errors: [...MISSING],
});

export const changeSecrets = endpoint({
  ...ORDINARY,
  name: 'changeSecrets',
  noun: 'secrets',
  method: 'POST',
  path: '/v1/vaults/{vault}/changes',
  summary: 'Create, change, delete, move, rotate and roll back several secrets in one transaction',
  description:
    'All changes happen, or none; an error has the `index` of the change that failed in its `details`. Each change takes the permission and the fields of the endpoint for it alone, and has an audit entry of its own. A path may appear once. If changes of the vault are reviewed, all of them wait as one approval.',
  credentials: ANY_CALLER,
  permission: 'secrets:update',
  alsoAsks: [
    'secrets:create',
    'secrets:delete',
    'secrets:move',
    'secrets:rotate',
    'secrets:rollback',
    'changes:bypass',
  ],
  resource: 'loaded',
  loads: ['vault/{vault}', 'vault/{vault}/{path*}'],
  rate: 'write',
  bulk: true,
  approval: 'secret_change',
  plaintext: true,
  audit: 'secrets:change',
  effect: 'change',
  bodyBytesMax: VALUE_BODY_BYTES_MAX,
  params: vaultParam,
  query: NONE,
  body: objectWithExamples(
    [{ changes: [{ op: 'create', path: 'database/user', value: 'payments' }], reason: 'New database' }],
    {
      changes: Type.Array(SecretChangeInput, { minItems: 1, maxItems: CHANGES_MAX, description: 'In their order.' }),
      reason: Type.Optional({ ...reason, description: 'Reason for each change that has none of its own.' }),
    },
  ),
  status: 200,
  output: object({ changes: Type.Array(ChangedSecret, { description: 'In the order of the request.' }) }),
  errors: [
    'QUOTA_EXCEEDED',
    'VAULT_NOT_FOUND',
    'SECRET_NOT_FOUND',
    'VERSION_NOT_FOUND',
    'VERSION_CONFLICT',
    'SECRET_ALREADY_EXISTS',
    'VAULT_ENV_CONFLICT',
    'VAULT_ENV_PROMOTE_REQUIRED',
    'ROTATION_IN_PROGRESS',
    'ROTATION_NOT_CONFIGURED',
    'MFA_REQUIRED',
    'ZkBoundaryViolation',
  ],
});
