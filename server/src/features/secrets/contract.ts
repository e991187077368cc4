import Type from 'typebox';
import { environmentText } from '../../kernel/authz/environment.ts';
import { ANY_CALLER, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { described, named } from '../../kernel/named-schemas.ts';
import {
  Deleted,
  id,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  oneOf,
  pageQuery,
  timestampText,
} from '../../kernel/wire.ts';
import { tagText, vaultName } from '../vaults/index.ts';
import {
  expectedVersion,
  Generator,
  ListedSecret,
  Metadata,
  MetadataChange,
  MetadataInput,
  OPERATIONS,
  Protection,
  pathText,
  Rotation,
  reason,
  Secret,
  SecretWithValue,
  secretParams,
  typeText,
  VALUE_BODY_BYTES_MAX,
  value,
  vaultParam,
  versionNumber,
} from './schemas.ts';

export * from './schemas.ts';

const common = {
  noun: 'secrets',
  nounDescription: 'Values with their versions: stored, read, rotated, moved, searched.',
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
  description: 'With `value`, or with a `generator` that makes one. It is version 1.',
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
      Type.Boolean({ description: 'Lets a secret without an environment into a production vault.' }),
    ),
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
  description:
    'The newest version unless `version` says otherwise. A fortress secret takes a second factor shown just now.',
  permission: 'secrets:read',
  audit: 'secrets:read',
  plaintext: true,
  params: secretParams,
  query: object({ version: Type.Optional(described('Which version; the newest unless given.', versionNumber)) }),
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
  description:
    'What is left out stays as it is. `expected_version` or `If-Match` guards against changes that you did not see.',
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
  description: 'Its path is free at once. `purge_at` says until when it can be restored.',
  permission: 'secrets:delete',
  audit: 'secrets:delete',
  output: object({
    ...Deleted.properties,
    id: id('sec'),
    path: Type.String({ description: 'Where it was.' }),
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
  description: 'It comes back with all its versions, if no other secret is at its path by now.',
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

const VersionAuthor = named(
  'VersionAuthor',
  'Who made a version.',
  object({
    kind: Type.String({ description: 'A user or a machine.' }),
    id: Type.String({ description: 'The id.' }),
    name: Type.String({ description: 'The name.' }),
  }),
);

const SecretVersion = named(
  'SecretVersion',
  'A version of a secret, without its value.',
  object({
    version: Type.Integer({ description: 'Its number.' }),
    operation: oneOf(OPERATIONS, 'What made it.'),
    reason: Type.String({ description: 'Why it was made.' }),
    restored_from: nullable(Type.Integer({ description: 'Of a rollback: the version whose value it has.' })),
    author: VersionAuthor,
    metadata: Metadata,
    created_at: timestampText,
    is_current: Type.Boolean({ description: 'Whether it is the newest.' }),
  }),
);

export const listVersions = endpoint({
  ...reading,
  name: 'listSecretVersions',
  path: '/v1/vaults/{vault}/secrets/{path*}/versions',
  summary: 'List the versions of a secret, newest first',
  description: 'Who made each, when and why; never values.',
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
    status: oneOf(['completed', 'in_progress'], 'Whether it is done.'),
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
  description: 'The new version has the value of `to_version`; no version is lost.',
  permission: 'secrets:rollback',
  audit: 'secrets:rollback',
  body: object({
    to_version: described('The version whose value is wanted back.', versionNumber),
    reason: Type.Optional(reason),
    expected_version: expectedVersion,
  }),
  output: object({
    ...Secret.properties,
    restored_from: Type.Integer({ description: 'The version whose value it has.' }),
  }),
  errors: [...MISSING, 'VERSION_NOT_FOUND', 'VERSION_CONFLICT', 'ROTATION_IN_PROGRESS', 'MFA_REQUIRED'],
});

const SecretRelocation = named(
  'SecretRelocation',
  'Where a secret goes.',
  object({
    to_vault: Type.Optional(described('A vault, by name; the same one unless given.', vaultName)),
    to_path: pathText,
    promote: Type.Optional(
      Type.Boolean({ description: 'Lets a secret without an environment into a production vault.' }),
    ),
    value: Type.Optional({
      ...value,
      description:
        'In a zero-knowledge vault, and needed there: the value, sealed anew for the vault and path it goes to.',
    }),
  }),
);

const relocation = {
  ...changing,
  method: 'POST',
  body: SecretRelocation,
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
