import Type, { type Static } from 'typebox';
import { EnvironmentNameSchema, environmentText } from '../../kernel/authz/environment.ts';
import { BODY_BYTES_DEFAULT } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import { freeText, id, lineOfText, nullable, object, oneOf, timeInput, timestampText } from '../../kernel/wire/wire.ts';
import { Tags, vaultName } from '../vaults/index.ts';

export const VALUE_BYTES_MAX = 1024 * 1024;
/** In JSON a byte may take six characters (`\u0001`). */
export const VALUE_BODY_BYTES_MAX = 6 * VALUE_BYTES_MAX + BODY_BYTES_DEFAULT;
/** Without description, owner and tags. */
export const METADATA_KEYS_MAX = 64;
export const METADATA_BYTES_MAX = 4096;
export const PROTECTIONS = ['standard', 'fortress'] as const;
export const OPERATIONS = ['create', 'update', 'rotate', 'rollback', 'promote', 'copy'] as const;

/** The path parser validates the form and explains errors; the schema only bounds the length. */
export const pathText = Type.String({ minLength: 1, maxLength: 1024, description: 'segment/segment/…' });
export const typeText = Type.String({
  pattern: '^[a-z][a-z0-9_]{0,63}$',
  description: 'api_key, password, token, database, …',
});
export const value = Type.String({
  maxLength: VALUE_BYTES_MAX,
  writeOnly: true,
  description: 'At most 1 MiB; may be empty if the type allows it.',
});
export const reason = lineOfText({ maxLength: 512 }, 'Reason for the change, stored with the version.');
/** Belongs to the value: a new value ends when its own request says, or has no end. */
export const expiresAt = timeInput('When the value ends, in the future. A certificate says so itself.');

const furtherText = freeText(1024, 'A further field.');
const METADATA_FORM = { maxProperties: METADATA_KEYS_MAX + 3, propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,64}$' } };

export const MetadataInput = named(
  'SecretMetadataInput',
  'Metadata of a secret: the named fields, and any further string fields.',
  Type.Object(
    {
      description: Type.Optional(freeText(1024, 'Description of the secret.')),
      owner: Type.Optional(lineOfText({ maxLength: 254 }, 'The person or team responsible for it.')),
      tags: Type.Optional(Tags),
    },
    { ...METADATA_FORM, additionalProperties: furtherText },
  ),
);
export type MetadataInput = Static<typeof MetadataInput>;

export const MetadataChange = named(
  'SecretMetadataChange',
  'Given fields are replaced, null removes a field, omitted fields are unchanged.',
  Type.Object(
    {
      description: Type.Optional(nullable(MetadataInput.properties.description)),
      owner: Type.Optional(nullable(MetadataInput.properties.owner)),
      tags: Type.Optional(nullable(Tags)),
    },
    {
      ...METADATA_FORM,
      additionalProperties: nullable(furtherText),
    },
  ),
);
export type MetadataChange = Static<typeof MetadataChange>;

export const Metadata = named(
  'SecretMetadata',
  'Metadata of a secret.',
  Type.Object(
    {
      tags: Type.Array(Type.String(), { description: 'Its tags.' }),
      description: Type.Optional(Type.String({ description: 'Description of the secret.' })),
      owner: Type.Optional(Type.String({ description: 'The person or team responsible for it.' })),
    },
    { additionalProperties: Type.String() },
  ),
);
export type Metadata = Static<typeof Metadata>;

const GeneratorCharset = named(
  'GeneratorCharset',
  'The character set; `ascii` is letters, digits and `-._~`, starting with a letter or digit.',
  oneOf(['alphanumeric', 'ascii', 'hex', 'base64url', 'digits']),
);

export const Generator = named(
  'Generator',
  'How a new value is generated. Omitted options default to those of the secret’s type.',
  object({
    length: Type.Optional(
      Type.Integer({ minimum: 8, maximum: 512, description: 'Random characters, not counting the prefix.' }),
    ),
    charset: Type.Optional(GeneratorCharset),
    prefix: Type.Optional(
      Type.String({ maxLength: 32, pattern: '^[A-Za-z0-9_.-]*$', description: 'Prefix of the value.' }),
    ),
    require_each_class: Type.Optional(
      Type.Boolean({
        description:
          'Requires at least one character of each class of the charset: lower case, upper case, digit, symbol.',
      }),
    ),
  }),
);
export type Generator = Static<typeof Generator>;

const RotationBackend = named(
  'RotationBackend',
  'An external credential that is changed together with the value.',
  object({
    kind: oneOf(
      ['postgres_role'],
      'postgres_role: changes the password of the role in the value of a database secret.',
    ),
  }),
);

export const Rotation = named(
  'RotationSettings',
  'Automatic rotation: how often and how.',
  object({
    interval_days: Type.Integer({ minimum: 1, maximum: 3650, description: 'Interval between rotations, in days.' }),
    generator: Type.Optional(Generator),
    backend: Type.Optional(RotationBackend),
  }),
);
export type Rotation = Static<typeof Rotation>;

export const Protection = named(
  'Protection',
  'fortress: encrypted under its own key, and each use requires a recent second factor.',
  oneOf(PROTECTIONS),
);

const summary = {
  id: id('sec'),
  secret_id: Type.Integer({ description: 'Integer id of the same secret.' }),
  path: Type.String({ description: 'Path of the secret in the vault.' }),
  type: Type.String({ description: 'Type of the secret.' }),
  environment: EnvironmentNameSchema,
  protection: Protection,
  version: Type.Integer({ description: 'The newest version.' }),
  metadata: Metadata,
  created_at: timestampText,
  updated_at: timestampText,
  rotated_at: nullable(timestampText),
  next_rotation: nullable(timestampText),
  expires_at: nullable(
    timestampText,
    'When the value ends: as it was given, or as a certificate says. Null without an end.',
  ),
};
const SecretSummary = object(summary);
export type SecretSummary = Static<typeof SecretSummary>;

export const RISK_FACTORS = [
  'age',
  'no_rotation',
  'readers',
  'production',
  'weak_value',
  'repeated_value',
  'stale_readers',
  'open_anomalies',
  'ends_soon',
] as const;

export const RiskFactor = named(
  'RiskFactor',
  'One reason for the risk score of a secret.',
  object({
    factor: oneOf(RISK_FACTORS, 'The kind of reason; the guide page on risk explains each.'),
    points: Type.Integer({ minimum: 0, maximum: 100, description: 'What it adds to the score.' }),
    why: Type.String({ description: 'What was found, in words.' }),
  }),
);
export type RiskFactor = Static<typeof RiskFactor>;

export const riskScore = Type.Integer({
  minimum: 0,
  maximum: 100,
  description: 'The sum of the points of its factors, at most 100.',
});
export const riskFactors = Type.Array(RiskFactor, {
  description: 'Reasons for the score. Those about the value are shown only to callers who may read it.',
});

const TemplatePart = named(
  'TemplatePart',
  'A secret that the value of a template was resolved from.',
  object({
    vault: Type.String({ description: 'The name of its vault.' }),
    path: Type.String({ description: 'Its path in the vault.' }),
    id: id('sec'),
    version: Type.Integer({ description: 'The version whose value was used.' }),
  }),
);

const SecretName = named(
  'SecretName',
  'A secret by the names that requests use.',
  object({
    vault: Type.String({ description: 'The name of its vault.' }),
    path: Type.String({ description: 'Its path in the vault.' }),
  }),
);
export const secretNames = (description: string) => Type.Array(SecretName, { description });
export const referredBy = secretNames(
  'Templates that refer to this place, of which you may see the metadata; at most 100. They cannot be resolved while no secret is there.',
);
export interface Referred {
  referred_by: Static<typeof referredBy>;
}

/** Only of templates, so that nothing is added to the response for another secret. */
export const templateParts = Type.Optional(
  Type.Array(TemplatePart, {
    description: 'Only of a template that was resolved: the secrets whose values are in its value.',
  }),
);
export const resolve = Type.Optional(
  Type.Boolean({
    description: 'If false, templates are returned as they are written. Default: with the values that they refer to.',
  }),
);

/** Beside the version of a secret. */
export const partsVersion = Type.Optional(
  Type.String({
    description:
      'Only of a template of which you may read every part: changes whenever the version of a part does, or a part is moved or deleted.',
  }),
);
/** For the responses of other features. */
export const templateSchemas = { templateParts, partsVersion, resolve };

export const ListedSecret = named(
  'ListedSecret',
  'A secret in a list.',
  object({
    ...summary,
    metadata: nullable(Metadata, 'Null if you may list the secret, but not read it or its metadata.'),
    rotation: nullable(Rotation, 'Null without automatic rotation, and like the metadata.'),
    expires_at: nullable(timestampText, 'When the value ends. Null without an end, and like the metadata.'),
    risk_score: nullable(riskScore, 'Null like the metadata, and until it was first computed.'),
    risk_factors: nullable(riskFactors, 'Null if the score is.'),
    deleted_at: Type.Optional({ ...timestampText, description: 'Only present for deleted secrets.' }),
    parts_version: partsVersion,
  }),
);
export type ListedSecret = Static<typeof ListedSecret>;

const RotationStatus = named(
  'RotationStatus',
  'Result of the latest rotation through a backend.',
  object({
    rotation_id: id('rotation'),
    status: oneOf(['in_progress', 'completed', 'failed'], 'Status of the rotation.'),
    failure: Type.String({ description: 'Why it failed; empty if it did not.' }),
  }),
);

export const Secret = named(
  'Secret',
  'A secret, without its value.',
  object({
    ...summary,
    vault: Type.String({ description: 'The name of its vault.' }),
    rotation: nullable(Rotation),
    rotation_status: nullable(RotationStatus),
    risk_score: nullable(
      riskScore,
      'The score that was last computed; null until then. For callers who may not read the value it leaves out what tells something about it.',
    ),
  }),
);
export type Secret = Static<typeof Secret>;

export const SecretWithValue = named(
  'SecretWithValue',
  'A secret with its value.',
  object({ ...Secret.properties, value: Type.String({ description: 'The value.' }), parts: templateParts }),
);

/** The largest value of a 32-bit integer column. */
export const VERSION_MAX = 2 ** 31 - 1;
export const versionNumber = Type.Integer({ minimum: 1, maximum: VERSION_MAX });
export const vaultParam = object({ vault: vaultName });
export const secretParams = object({ vault: vaultName, path: pathText });
export const expectedVersion = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: VERSION_MAX,
    description: 'Fails unless this is still the newest version; `If-Match: "v3"` means the same.',
  }),
);

export const CHANGES_MAX = 50;
export const CHANGE_OPERATIONS = ['create', 'update', 'delete', 'move', 'rotate', 'rollback'] as const;
export type ChangeOperation = (typeof CHANGE_OPERATIONS)[number];

/** Of one of several changes. */
const ChangeOperation = named('SecretChangeOperation', 'What is done.', oneOf(CHANGE_OPERATIONS, 'What is done.'));

export const RotationProgress = named(
  'SecretRotationProgress',
  'in_progress: a backend makes the new value.',
  oneOf(['completed', 'in_progress'], 'in_progress: a backend makes the new value.'),
);

export const SecretChangeInput = named(
  'SecretChangeInput',
  'One change of a secret: what is done, where, and the fields that the endpoint for it alone takes.',
  object({
    op: ChangeOperation,
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
    op: ChangeOperation,
    id: nullable(id('sec'), 'Null for a rotation, which has an id of its own.'),
    path: Type.String({ description: 'The path after the change.' }),
    version: nullable(Type.Integer({ description: 'The newest version after the change.' }), 'Null if it was deleted.'),
    rotation_id: nullable(id('rotation'), 'Null unless it was rotated.'),
    status: RotationProgress,
  }),
);
export type ChangedSecret = Static<typeof ChangedSecret>;

const VersionAuthor = named(
  'VersionAuthor',
  'The user or machine that created a version.',
  object({
    kind: Type.String({ description: 'A user or a machine.' }),
    id: Type.String({ description: 'The id.' }),
    name: Type.String({ description: 'The name.' }),
  }),
);

export const SecretVersion = named(
  'SecretVersion',
  'A version of a secret, without its value.',
  object({
    version: Type.Integer({ description: 'Its number.' }),
    operation: oneOf(OPERATIONS, 'The operation that created it.'),
    reason: Type.String({ description: 'The reason given for the change.' }),
    restored_from: nullable(Type.Integer({ description: 'For a rollback, the version whose value was restored.' })),
    author: VersionAuthor,
    metadata: Metadata,
    created_at: timestampText,
    has_new_value: Type.Boolean({
      description: 'False if only metadata or rotation changed, and the value is that of the version before.',
    }),
    is_current: Type.Boolean({ description: 'Whether it is the newest version.' }),
  }),
);

export const SecretRelocation = named(
  'SecretRelocation',
  'The destination of a secret.',
  object({
    to_vault: Type.Optional(described('The name of the destination vault; default: the same vault.', vaultName)),
    to_path: pathText,
    promote: Type.Optional(
      Type.Boolean({
        description: 'Allows a secret without an environment in a production vault; it becomes a production secret.',
      }),
    ),
    value: Type.Optional({
      ...value,
      description:
        'Required in a zero-knowledge vault, and only allowed there: the value, sealed for the destination vault and path.',
    }),
  }),
);
