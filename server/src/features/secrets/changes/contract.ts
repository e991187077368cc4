import Type, { type Static } from 'typebox';
import { environmentText } from '../../../kernel/authz/environment.ts';
import { ANY_CALLER, endpoint, NONE, ORDINARY } from '../../../kernel/endpoint/declaration.ts';
import { described, named } from '../../../kernel/wire/named-schemas.ts';
import { id, nullable, object, objectWithExamples, oneOf } from '../../../kernel/wire/wire.ts';
import {
  expectedVersion,
  expiresAt,
  Generator,
  MetadataChange,
  Protection,
  pathText,
  Rotation,
  reason,
  typeText,
  VALUE_BODY_BYTES_MAX,
  value,
  vaultParam,
  versionNumber,
} from '../schemas.ts';

export const CHANGES_MAX = 50;
export const CHANGE_OPERATIONS = ['create', 'update', 'delete', 'move', 'rotate', 'rollback'] as const;
export type ChangeOperation = (typeof CHANGE_OPERATIONS)[number];

const SecretChangeInput = named(
  'SecretChangeInput',
  'One change of a secret: what is done, where, and the fields that the endpoint for it alone takes.',
  object({
    op: oneOf(CHANGE_OPERATIONS, 'What is done.'),
    path: pathText,
    expected_version: expectedVersion,
    value: Type.Optional(value),
    type: Type.Optional(typeText),
    generator: Type.Optional(Generator),
    metadata: Type.Optional(MetadataChange),
    environment: Type.Optional(environmentText),
    protection: Type.Optional(Protection),
    promote: Type.Optional(
      Type.Boolean({
        description: 'Allows a secret without an environment in a production vault; it becomes a production secret.',
      }),
    ),
    rotation: Type.Optional(nullable(Rotation)),
    expires_at: Type.Optional(nullable(expiresAt, 'When the value ends; null removes the end.')),
    to_path: Type.Optional({ ...pathText, description: 'For a move: the new path in the same vault.' }),
    to_version: Type.Optional(described('For a rollback: the version to roll back to.', versionNumber)),
    reason: Type.Optional(reason),
  }),
);
export type SecretChangeInput = Static<typeof SecretChangeInput>;

export const ChangedSecret = named(
  'ChangedSecret',
  'What one change did.',
  object({
    op: oneOf(CHANGE_OPERATIONS, 'What was done.'),
    id: nullable(id('sec'), 'Null for a rotation, which has an id of its own.'),
    path: Type.String({ description: 'The path after the change.' }),
    version: nullable(Type.Integer({ description: 'The newest version after the change.' }), 'Null if it was deleted.'),
    rotation_id: nullable(id('rotation'), 'Null unless it was rotated.'),
    status: oneOf(['completed', 'in_progress'], 'in_progress: a backend makes the new value.'),
  }),
);
export type ChangedSecret = Static<typeof ChangedSecret>;

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
