import Type, { type Static } from 'typebox';
import { StageName } from '../../kernel/authz/environment.ts';
import { BODY_BYTES_DEFAULT } from '../../kernel/endpoint.ts';
import { named } from '../../kernel/named-schemas.ts';
import { freeText, id, lineOfText, nullable, object, oneOf, timestampText } from '../../kernel/wire.ts';
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
  description: 'At most 1 MiB; may be empty where the type has no rule against it.',
});
export const reason = lineOfText({ maxLength: 512 }, 'Why; kept with the version.');

const furtherText = freeText(1024, 'Anything else.');
const METADATA_FORM = { maxProperties: METADATA_KEYS_MAX + 3, propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,64}$' } };

export const MetadataInput = named(
  'SecretMetadataInput',
  'What is known of a secret beside its value: the named members, and any others of text.',
  Type.Object(
    {
      description: Type.Optional(freeText(1024, 'What it is.')),
      owner: Type.Optional(lineOfText({ maxLength: 254 }, 'Who answers for it.')),
      tags: Type.Optional(Tags),
    },
    { ...METADATA_FORM, additionalProperties: furtherText },
  ),
);
export type MetadataInput = Static<typeof MetadataInput>;

export const MetadataChange = named(
  'SecretMetadataChange',
  'Keys given replace, null removes, others stay.',
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
  'What is known of a secret beside its value.',
  Type.Object(
    {
      tags: Type.Array(Type.String(), { description: 'Its tags.' }),
      description: Type.Optional(Type.String({ description: 'What it is.' })),
      owner: Type.Optional(Type.String({ description: 'Who answers for it.' })),
    },
    { additionalProperties: Type.String() },
  ),
);
export type Metadata = Static<typeof Metadata>;

const GeneratorCharset = named(
  'GeneratorCharset',
  'Which characters; `ascii` is letters, digits and `-._~`, beginning with a letter or digit.',
  oneOf(['alphanumeric', 'ascii', 'hex', 'base64url', 'digits']),
);

export const Generator = named(
  'Generator',
  'How a new value is made. What is left out is as the secret’s type has it.',
  object({
    length: Type.Optional(
      Type.Integer({ minimum: 8, maximum: 512, description: 'Random characters, not counting the prefix.' }),
    ),
    charset: Type.Optional(GeneratorCharset),
    prefix: Type.Optional(
      Type.String({ maxLength: 32, pattern: '^[A-Za-z0-9_.-]*$', description: 'What the value begins with.' }),
    ),
    require_each_class: Type.Optional(
      Type.Boolean({
        description: 'At least one of each class of the charset: lower case, upper case, digit, symbol.',
      }),
    ),
  }),
);
export type Generator = Static<typeof Generator>;

const RotationBackend = named(
  'RotationBackend',
  'What else is changed when the value is.',
  object({
    kind: oneOf(
      ['postgres_role'],
      'postgres_role: changes the password of the role in the value of a database secret.',
    ),
  }),
);

export const Rotation = named(
  'RotationSettings',
  'How often, and how, a secret is rotated by itself.',
  object({
    interval_days: Type.Integer({ minimum: 1, maximum: 3650, description: 'Rotated after so many days.' }),
    generator: Type.Optional(Generator),
    backend: Type.Optional(RotationBackend),
  }),
);
export type Rotation = Static<typeof Rotation>;

export const Protection = named(
  'Protection',
  'fortress: its own key, and a fresh second factor for each use.',
  oneOf(PROTECTIONS),
);

const summary = {
  id: id('sec'),
  secret_id: Type.Integer({ description: 'The same secret as an integer.' }),
  path: Type.String({ description: 'Where it is in the vault.' }),
  type: Type.String({ description: 'What kind of secret it is.' }),
  environment: StageName,
  protection: Protection,
  version: Type.Integer({ description: 'The newest version.' }),
  metadata: Metadata,
  created_at: timestampText,
  updated_at: timestampText,
  rotated_at: nullable(timestampText),
  next_rotation: nullable(timestampText),
};
const SecretSummary = object(summary);
export type SecretSummary = Static<typeof SecretSummary>;

export const ListedSecret = named(
  'ListedSecret',
  'A secret, as lists show it.',
  object({
    ...summary,
    metadata: nullable(Metadata, 'Null where you may list the secret, but read neither it nor its metadata.'),
    deleted_at: Type.Optional({ ...timestampText, description: 'Only of what is deleted.' }),
  }),
);
export type ListedSecret = Static<typeof ListedSecret>;

const RotationStatus = named(
  'RotationStatus',
  'How the latest rotation through a backend went.',
  object({
    rotation_id: id('rotation'),
    status: oneOf(['in_progress', 'completed', 'failed'], 'How far it is.'),
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
  }),
);
export type Secret = Static<typeof Secret>;

export const SecretWithValue = named(
  'SecretWithValue',
  'A secret with its value.',
  object({ ...Secret.properties, value: Type.String({ description: 'The value.' }) }),
);

/** The largest value of a 32-bit integer column. */
export const VERSION_MAX = 2 ** 31 - 1;
export const versionNumber = Type.Integer({ minimum: 1, maximum: VERSION_MAX });
export const vaultParam = object({ vault: vaultName });
export const secretParams = object({ vault: vaultName, path: pathText });
export const expectedVersion = Type.Optional(
  Type.Integer({
    minimum: 1,
    description: 'Only if this is still the newest version; `If-Match: "v3"` says the same.',
  }),
);
