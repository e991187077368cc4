import { AuthenticatedTable } from '../../../kernel/integrity/authenticated-table.ts';
import type { Authenticated } from '../../../kernel/storage/tables.ts';

export interface SecretsTables {
  secrets: Authenticated<SecretRow, 'fingerprint' | 'fingerprint_version' | 'expires_at'>;
  secret_tags: SecretTagRow;
  secret_versions: Authenticated<SecretVersionRow>;
  secret_references: SecretReferenceRow;
}

/** A secret with its newest version. */
export interface SecretRow {
  tenant_id: string;
  vault_id: string;
  /** 0 while the secret exists; its own `secret_no` once it is deleted, so that the path is free again. */
  deleted_no: number;
  path: string;
  secret_id: string;
  secret_no: number;
  type: string;
  environment: string;
  protection: 'standard' | 'fortress';
  version: number;
  /** JSON object of strings, without the tags. */
  metadata: string;
  /** JSON array. */
  tags: string;
  /** JSON, or null. */
  rotation: string | null;
  /** The backend rotation in progress, or null. */
  rotation_id: string | null;
  rotated_at: number | null;
  next_rotation_at: number | null;
  created_at: number;
  updated_at: number;
  deleted_at: number | null;
  /** Keyed digest of the value: finds equal values without revealing them. */
  fingerprint: Uint8Array | null;
  /** Which key made the fingerprint, and of what (`value/fingerprint.ts`): fingerprints with two versions cannot be compared. */
  fingerprint_version: number | null;
  /** When the newest value ends, as a certificate or a request says; null without an end. -1 for a certificate whose end was not read yet. */
  expires_at: number | null;
  /** The data key of a fortress secret's newest value, wrapped by the vault's key. */
  data_key: Uint8Array | null;
  /** The version the value was sealed for: a change of metadata creates a version but does not reseal the value. */
  sealed_version: number;
  sealed: Uint8Array;
}

/** The risk that was last computed, with and without what tells something about the value; null until then. */
export interface StoredScores {
  risk_score: number | null;
  risk_score_without_value: number | null;
}

export interface SecretTagRow {
  tenant_id: string;
  vault_id: string;
  tag: string;
  path: string;
}

/** A secret that a template refers to, by the names in its text. There may be none at that path. */
export interface SecretReferenceRow {
  tenant_id: string;
  /** The template. */
  secret_id: string;
  vault: string;
  path: string;
}

export interface SecretVersionRow {
  tenant_id: string;
  secret_id: string;
  version: number;
  operation: 'create' | 'update' | 'rotate' | 'rollback' | 'promote' | 'copy';
  reason: string;
  restored_from: number | null;
  author_kind: string;
  author_id: string;
  author_name: string;
  type: string;
  metadata: string;
  tags: string;
  created_at: number;
  /** Only of a fortress secret: each version has its own data key. */
  data_key: Uint8Array | null;
  sealed_version: number;
  sealed: Uint8Array;
}

/** The columns that lists load: everything but the value and its keys. */
export const SUMMARY = [
  'secret_id',
  'secret_no',
  'path',
  'type',
  'environment',
  'protection',
  'version',
  'metadata',
  'tags',
  'created_at',
  'updated_at',
  'rotation',
  'rotated_at',
  'next_rotation_at',
  'expires_at',
] as const;
export type SummaryRow = Pick<SecretRow, (typeof SUMMARY)[number]>;

/** A secret in a list, with the size of its sealed value, which is about the memory needed to open it. */
export type ListedRow = SummaryRow & { sealed_bytes: number };

export const VERSION_SUMMARY = [
  'tenant_id',
  'secret_id',
  'version',
  'operation',
  'reason',
  'restored_from',
  'author_kind',
  'author_id',
  'author_name',
  'type',
  'metadata',
  'tags',
  'created_at',
  'sealed_version',
] as const satisfies readonly (keyof SecretVersionRow)[];
export type VersionSummaryRow = Pick<SecretVersionRow, (typeof VERSION_SUMMARY)[number]>;

/** The seal binds a value to its secret and version. The MAC binds the rest of the row: the secret's location, and which version is current. */
export const SECRETS = new AuthenticatedTable<'secrets', SecretRow>('secrets', {
  key: ['secret_id'],
  covered: [
    'vault_id',
    'deleted_no',
    'path',
    'secret_no',
    'type',
    'environment',
    'protection',
    'version',
    'metadata',
    'tags',
    'rotation',
    'rotation_id',
    'rotated_at',
    'next_rotation_at',
    'created_at',
    'updated_at',
    'deleted_at',
    'data_key',
    'sealed_version',
    'sealed',
  ],
  sealed: ['data_key', 'sealed'],
  uncovered: {
    fingerprint: 'used to find equal values; it decrypts nothing and is never returned',
    fingerprint_version: 'the version of the key that computed the fingerprint, negative if of a digest',
    expires_at: 'used to announce values that end soon; nothing is decided by it',
  },
  isListedAtUpgrade: false,
});

export const VERSIONS = new AuthenticatedTable<'secret_versions', SecretVersionRow>('secret_versions', {
  key: ['secret_id', 'version'],
  covered: [
    'operation',
    'reason',
    'restored_from',
    'author_kind',
    'author_id',
    'author_name',
    'type',
    'metadata',
    'tags',
    'created_at',
    'data_key',
    'sealed_version',
    'sealed',
  ],
  sealed: ['data_key', 'sealed'],
  isRecorded: false,
});
