import Type, { type Static } from 'typebox';
import { EnvironmentNameSchema } from '../../kernel/authz/environment.ts';
import { VaultRoleName } from '../../kernel/authz/vault-roles.ts';
import { named } from '../../kernel/wire/named-schemas.ts';
import { explainedPattern } from '../../kernel/wire/pattern-reasons.ts';
import {
  freeText,
  IN_A_LINE,
  id,
  lineOfText,
  nullable,
  object,
  oneOf,
  timestampText,
  vaultName,
} from '../../kernel/wire/wire.ts';

export const VAULT_STATUSES = ['active', 'pending_deletion', 'deleted'] as const;
const KEY_SOURCES = ['service_managed', 'customer_managed'] as const;
const TAGS_MAX = 64;
const TAG_LENGTH_MAX = 128;
/** A vault's detail lists at most this many secrets of each kind. */
export const SECRET_IDS_MAX = 1000;

export const tagText = lineOfText({ minLength: 1, maxLength: TAG_LENGTH_MAX }, 'A tag.');
/** A list of tags in a query or a file is separated by commas. */
const newTag = Type.String({
  minLength: 1,
  maxLength: TAG_LENGTH_MAX,
  pattern: explainedPattern(`^${IN_A_LINE.replace(/]$/, ',]')}*$`, 'must be one line without a comma'),
  description: 'A tag, without a comma.',
});
export const Tags = Type.Array(newTag, {
  maxItems: TAGS_MAX,
  uniqueItems: true,
  description: 'Tags for filtering lists.',
});
export const description = freeText(1024, 'Purpose of the vault.');

export const KeySource = named('KeySource', 'Who manages the key of the vault.', oneOf(KEY_SOURCES));
export const VaultStatus = named(
  'VaultStatus',
  'A deleted vault can be restored until it is purged.',
  oneOf(VAULT_STATUSES),
);

const Encryption = named(
  'VaultEncryption',
  'Encryption settings of a vault.',
  object({
    algorithm: oneOf(['AES-256-GCM'], 'Encryption algorithm of the values.'),
    key_source: KeySource,
    rotation_days: Type.Integer({
      description:
        "Interval between rotations of the vault's key, in days; values under older key versions can still be read.",
    }),
  }),
);

const AuditSettings = named(
  'VaultAudit',
  'Audit settings of a vault.',
  object({
    log_reads: Type.Boolean({
      description:
        'If false, successful reads of ordinary secrets are not logged individually, but counted per reader in one entry each minute. Denied requests, changes and fortress secrets are always logged.',
    }),
    retention_days: nullable(
      Type.Integer({
        minimum: 1,
        maximum: 36_500,
        description:
          'Audit retention in days; null keeps entries forever. Entries of changes that verification needs, and entries not yet covered by a checkpoint, are kept.',
      }),
    ),
  }),
);

export const ChangeControl = named(
  'ChangeControl',
  'none: changes of its secrets happen at once. review: they wait until another person with `secrets:review` approves them.',
  oneOf(['none', 'review']),
);

export const AuditChange = named(
  'VaultAuditChange',
  'Audit settings to change; omitted fields keep their value or default.',
  Type.Partial(AuditSettings, { additionalProperties: false }),
);

const summary = {
  id: id('vault'),
  name: Type.String({ description: 'Its name, which cannot be changed.' }),
  description: Type.String({ description: 'Purpose of the vault.' }),
  environment: EnvironmentNameSchema,
  tags: Type.Array(Type.String(), { description: 'Its tags.' }),
  status: VaultStatus,
  secrets_count: Type.Integer({ description: 'Number of its secrets.' }),
  is_zero_knowledge: Type.Boolean({
    description: 'Whether clients encrypt the values, so that the service never sees the plaintext.',
  }),
  created_at: timestampText,
  updated_at: timestampText,
  deleted_at: nullable(timestampText),
  purge_at: nullable(timestampText),
};

const ownRole = {
  your_role: nullable(
    VaultRoleName,
    'Your role as a member, or that of a group you are in if it is higher; null if you are no member. Your role in the tenant and policies may allow more or less.',
  ),
};

export const VaultSummary = named('VaultSummary', 'A vault in a list.', object({ ...summary, ...ownRole }));

export const Vault = named(
  'Vault',
  'A vault: it holds secrets of one environment.',
  object({
    ...summary,
    encryption: Encryption,
    audit: AuditSettings,
    change_control: ChangeControl,
    approval_id: nullable(id('approval')),
    secret_ids: Type.Array(id('sec'), {
      description: 'Ids of its secrets that you may list, except those in `fortress_secret_ids`.',
    }),
    fortress_secret_ids: Type.Array(id('sec'), { description: 'Ids of its fortress secrets that you may list.' }),
    secret_ids_truncated: Type.Boolean({
      description: `True if there are more than ${SECRET_IDS_MAX} of either kind.`,
    }),
  }),
);
export type Vault = Static<typeof Vault>;

const VaultPolicy = named(
  'VaultPolicy',
  'A policy that applies to a vault.',
  object({ name: Type.String({ description: 'Its name.' }) }),
);

export const VaultDetail = named(
  'VaultDetail',
  'A vault with your role in it and the policies that apply to it.',
  object({
    ...Vault.properties,
    ...ownRole,
    policies: Type.Array(VaultPolicy, {
      description: 'Attached policies that apply to the vault or its secrets.',
    }),
  }),
);

export { vaultName };
export const vaultParam = object({ vault: vaultName });
