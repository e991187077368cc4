import Type, { type Static } from 'typebox';
import { StageName } from '../../kernel/authz/environment.ts';
import { named } from '../../kernel/named-schemas.ts';
import { freeText, id, lineOfText, nullable, object, oneOf, timestampText } from '../../kernel/wire.ts';

export const VAULT_STATUSES = ['active', 'pending_deletion', 'deleted'] as const;
const KEY_SOURCES = ['service_managed', 'customer_managed'] as const;
const TAGS_MAX = 64;
const TAG_LENGTH_MAX = 128;
/** A vault's detail lists at most this many secrets of each kind. */
export const SECRET_IDS_MAX = 1000;

export const tagText = lineOfText({ minLength: 1, maxLength: TAG_LENGTH_MAX }, 'A tag.');
export const Tags = Type.Array(tagText, {
  maxItems: TAGS_MAX,
  uniqueItems: true,
  description: 'Tags, by which lists can be filtered.',
});
export const description = freeText(1024, 'What it is for.');

export const KeySource = named('KeySource', 'Who keeps the key of the vault.', oneOf(KEY_SOURCES));
export const VaultStatus = named(
  'VaultStatus',
  'A deleted vault can be restored until it is purged.',
  oneOf(VAULT_STATUSES),
);

const Encryption = named(
  'VaultEncryption',
  'How the values in a vault are sealed.',
  object({
    algorithm: oneOf(['AES-256-GCM'], 'How values are sealed.'),
    key_source: KeySource,
    rotation_days: Type.Integer({
      description: "The vault's key is replaced after so many days; old versions still open.",
    }),
  }),
);

const AuditSettings = named(
  'VaultAudit',
  'What the audit log keeps of a vault.',
  object({
    log_reads: Type.Boolean({
      description:
        'False: successful reads of ordinary secrets leave no entry of their own; they are counted, by reader, in one each minute. Refusals, changes and fortress ' +
        'secrets are always listed.',
    }),
    retention_days: nullable(
      Type.Integer({
        minimum: 1,
        maximum: 36_500,
        description:
          'Entries about the vault are purged after so many days; null: never. Those of changes that verification needs stay, and so do those that no checkpoint covers yet.',
      }),
    ),
  }),
);

export const AuditChange = named(
  'VaultAuditChange',
  'What of the audit settings is to be otherwise than it is, or than the default.',
  Type.Partial(AuditSettings, { additionalProperties: false }),
);

const summary = {
  id: id('vault'),
  name: Type.String({ description: 'Its name, which never changes.' }),
  description: Type.String({ description: 'What it is for.' }),
  environment: StageName,
  tags: Type.Array(Type.String(), { description: 'Its tags.' }),
  status: VaultStatus,
  secrets_count: Type.Integer({ description: 'How many secrets are in it.' }),
  is_zero_knowledge: Type.Boolean({
    description: 'Whether values are sealed by clients and never seen by the service.',
  }),
  created_at: timestampText,
  updated_at: timestampText,
  deleted_at: nullable(timestampText),
  purge_at: nullable(timestampText),
};

export const VaultSummary = named('VaultSummary', 'A vault, as lists show it.', object(summary));

export const Vault = named(
  'Vault',
  'A vault: it holds secrets of one environment.',
  object({
    ...summary,
    encryption: Encryption,
    audit: AuditSettings,
    approval_id: nullable(id('approval')),
  }),
);
export type Vault = Static<typeof Vault>;

const VaultPolicy = named(
  'VaultPolicy',
  'A policy that says something about a vault.',
  object({ name: Type.String({ description: 'Its name.' }) }),
);

export const VaultDetail = named(
  'VaultDetail',
  'A vault with what is in it and who says what about it.',
  object({
    ...Vault.properties,
    secret_ids: Type.Array(id('sec'), { description: 'Its secrets, those in `fortress_secret_ids` left out.' }),
    fortress_secret_ids: Type.Array(id('sec'), { description: 'Its fortress secrets.' }),
    secret_ids_truncated: Type.Boolean({
      description: `True if there are more than ${SECRET_IDS_MAX} of either kind.`,
    }),
    policies: Type.Array(VaultPolicy, {
      description: 'Attached policies that say something about the vault or what is in it.',
    }),
  }),
);

export const vaultName = Type.String({
  minLength: 1,
  maxLength: 63,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
  description: 'A vault, by name.',
});
export const vaultParam = object({ vault: vaultName });
