import type { ColumnType } from 'kysely';

/**
 * A table with authenticated rows: its columns are written only through its `AuthenticatedTable`, so no other statement can set them. Columns that
 * decide nothing are not restricted.
 */
export type Authenticated<R, Uncovered extends keyof R = never> = {
  [K in Exclude<keyof R, Uncovered>]: ColumnType<R[K], R[K], never>;
} & Pick<R, Uncovered> & { row_mac: ColumnType<Uint8Array | null, Uint8Array, never> };

/**
 * The typed tables: those of the kernel, to which `assembly/tables.ts` adds those of all features. Columns are portable: text, integer, 64-bit
 * integer (epoch milliseconds) and blob; booleans are 0 and 1.
 */
export interface Tables {
  installation: InstallationTable;
  seals: SealsTable;
  tenants: Authenticated<TenantsTable, 'epoch'>;
  keys: KeysTable;
  signing_keys: Authenticated<SigningKeysTable>;
  audit_segments: AuditSegmentsTable;
  audit_heads: AuditHeadsTable;
  audit_nodes: AuditNodesTable;
  audit_journal: AuditJournalTable;
  audit_archives: Authenticated<ArchivesTable>;
  idempotency_keys: IdempotencyKeysTable;
  rate_windows: RateWindowsTable;
  job_leases: JobLeasesTable;
  counters: CountersTable;
  dpop_proofs: DpopProofsTable;
  nodes: NodesTable;
  schema_version: SchemaVersionTable;
}

/** One row. */
export interface SchemaVersionTable {
  id: number;
  version: number;
  /** The oldest version whose releases may use the database. */
  oldest: number;
}

/** The nodes that use this database. */
export interface NodesTable {
  tenant_id: string;
  node_id: string;
  release: string;
  schema_version: number;
  /** Null for a node of a release that does not say it. */
  commit_id: string | null;
  region: string | null;
  started_at: number;
  seen_at: number;
}

/** The root key, sealed under each seal that the operator added. */
export interface SealsTable {
  tenant_id: string;
  /** The seal, as `CV_SEALS` names it. */
  reference: string;
  sealed: Uint8Array;
  /** The root key that is in it. */
  root_key_id: string;
  sealed_at: number;
  /** When it was last opened and compared; null before the first time. */
  checked_at: number | null;
  /** Why that failed; null if it succeeded. */
  problem: string | null;
}

/** One row: the id of this installation and of its root key. */
export interface InstallationTable {
  tenant_id: string;
  installation_id: string;
  root_key_id: string;
  /** Includes the cost of deriving the root key from a passphrase (crypto/root-key.ts). */
  root_key_salt: Uint8Array;
  created_at: number;
  /** When the last backup was made. Null on SQLite, which has a file for it (last-backup.ts). */
  last_backup_at: number | null;
}

export interface TenantsTable {
  tenant_id: string;
  name: string;
  status: 'active' | 'suspended';
  /** 1 for the operator's tenant, which alone may manage tenants. */
  is_operator: number;
  plan: 'starter' | 'professional' | 'enterprise';
  /** JSON: requests a minute by rate class, where they differ from the plan's. */
  rate_overrides: string;
  /** Incremented by every change that matters to access. */
  epoch: number;
  created_at: number;
  /** 1: a user without a second factor can only enrol one. */
  require_mfa: number | null;
  /** JSON: the tenant's own thresholds by type of anomaly; null if it has none. */
  anomaly_thresholds: string | null;
  /** JSON: the occasions on which mail is sent to the people concerned; null if there are none. */
  mail_notices: string | null;
  /** The plan without any subscription; null if the tenant never had one, so that `plan` is what the operator set. */
  base_plan: TenantsTable['plan'] | null;
}

export interface KeysTable {
  tenant_id: string;
  purpose: string;
  version: number;
  /** Which key wraps this one: `root:<id>` or `tenant:<version>`. */
  wrapping_key: string;
  wrapped: Uint8Array;
  /** Sealing operations reserved so far, in blocks: an upper bound of those done. */
  uses: number;
  created_at: number;
}

export interface SigningKeysTable {
  tenant_id: string;
  kid: string;
  public_jwk: string;
  sealed_private: Uint8Array;
  /** The time from which the key signs. It is published before, so that verifiers elsewhere have it in time. */
  signs_from: number;
  verifies_until: number;
  created_at: number;
}

/** Entries that were committed together. */
export interface AuditSegmentsTable {
  tenant_id: string;
  /** The id of its latest entry, so that segments sort by time. */
  id: string;
  /** JSON: a list of entries, each a list of its fields (audit/entry/entry.ts). Empty if the segment is packed. */
  entries: string;
  /** The same JSON compressed, if the segment was compacted; else null. */
  packed: Uint8Array | null;
  /** The sequence number of its first entry in the tenant's chain; null until it is linked. One that never will be has `REFUSED` or `PASSED_TOMBSTONE`. */
  first_seq: number | null;
  /** The hashes of the entries in order, 32 bytes each; null until it is linked. */
  hashes: Uint8Array | null;
  /** On PostgreSQL: the node that wrote it, its number among the node's segments of this tenant, and earlier numbers that were never committed. */
  node_id: string | null;
  node_no: number | null;
  /** JSON: those numbers as a list; with the numbers that were still open, an object (audit/postgres/node-segments.ts). */
  voids: string | null;
  mac: Uint8Array | null;
  mac_key_version: number | null;
  /** On PostgreSQL: the schema of the node that inserted or linked it last (storage/recording-fence.ts); null where neither applies. */
  schema_version: number | null;
}

/** A range of a tenant's chain that was written to the archive. */
export interface ArchivesTable {
  tenant_id: string;
  /** Counted up from 1. */
  archive_no: number;
  first_seq: number;
  last_seq: number;
  /** Fewer than the numbers, if a restored chain skips some. */
  entries: number;
  /** The hashes before the first entry, and of the last one. */
  previous_hash: Uint8Array;
  last_hash: Uint8Array;
  /** The times of the earliest and the latest entry. */
  first_at: number;
  last_at: number;
  /** The name of the object in the archive, and the SHA-256 of its content. */
  object: string;
  digest: string;
  archived_at: number;
  /** When its segments were deleted here; null while they are here. */
  pruned_at: number | null;
  /** What stays of a pruned range (audit/chain/archived-ranges.ts). */
  kept: Uint8Array | null;
  /** Until when the entries of a restored range stay. */
  restored_until: number | null;
}

/** How far the segments of a node are linked into a tenant's chain. */
export interface AuditNodesTable {
  tenant_id: string;
  node_id: string;
  linked_no: number;
  mac: Uint8Array;
  mac_key_version: number;
}

export interface AuditHeadsTable {
  tenant_id: string;
  seq: number;
  hash: Uint8Array;
  /** Keyed, so that anyone who edits the database cannot make a shorter or rewritten chain look intact. */
  mac: Uint8Array;
  key_version: number;
}

/** One row: the current journal, and the last of its batches that was moved into the log. */
export interface AuditJournalTable {
  tenant_id: string;
  journal_id: Uint8Array;
  moved: number;
  /** 0 once all of it is moved and no more batches follow. */
  is_open: number;
  /** Keyed, so that anyone who edits the database cannot make waiting batches look moved. */
  mac: Uint8Array;
  mac_key_version: number;
}

export interface IdempotencyKeysTable {
  tenant_id: string;
  actor_id: string;
  key_hash: Uint8Array;
  status: number;
  sealed_body: Uint8Array;
  /** 1 if its key is also derived from the caller's Idempotency-Key; 0 for responses that releases before 0.5.0 sealed. */
  is_key_bound: number;
  expires_at: number;
}

export interface RateWindowsTable {
  tenant_id: string;
  subject: string;
  rate_class: string;
  window_start: number;
  node_id: string;
  used: number;
}

export interface JobLeasesTable {
  tenant_id: string;
  job: string;
  node_id: string;
  lease_until: number;
  next_run_at: number;
  last_started_at: number | null;
  last_finished_at: number | null;
  last_outcome: string;
  runs: number;
  last_error: string | null;
  last_failed_at: number | null;
}

/** Counters for objects with integer ids, which count up per tenant. */
export interface CountersTable {
  tenant_id: string;
  name: string;
  value: number;
}

/** Used DPoP proofs, stored for as long as they could be used again. */
export interface DpopProofsTable {
  tenant_id: string;
  proof: string;
  expires_at: number;
}

/** The tenant of rows that belong to the installation. It does not have the form of a tenant id, so no tenant can have it. */
export const SYSTEM_TENANT = 'system';
