import type { ColumnType } from 'kysely';

/**
 * A table whose rows are authenticated: its columns are written through its `AuthenticatedTable` alone, so none of them can be set by a
 * statement of one's own. Those that decide nothing stay as they are.
 */
export type Authenticated<R, Uncovered extends keyof R = never> = {
  [K in Exclude<keyof R, Uncovered>]: ColumnType<R[K], R[K], never>;
} & Pick<R, Uncovered> & { row_mac: ColumnType<Uint8Array | null, Uint8Array, never> };

/**
 * The typed tables. The kernel declares its own here; a feature adds its own beside its store:
 * `declare module '../../kernel/storage/tables.ts' { interface Tables { users: UsersTable } }`.
 * Columns are portable: text, integer, 64-bit integer (epoch milliseconds) and blob; booleans are 0 and 1.
 */
export interface Tables {
  installation: InstallationTable;
  tenants: Authenticated<TenantsTable, 'epoch'>;
  keys: KeysTable;
  signing_keys: Authenticated<SigningKeysTable>;
  audit_segments: AuditSegmentsTable;
  audit_heads: AuditHeadsTable;
  audit_nodes: AuditNodesTable;
  audit_journal: AuditJournalTable;
  idempotency_keys: IdempotencyKeysTable;
  rate_windows: RateWindowsTable;
  job_leases: JobLeasesTable;
  counters: CountersTable;
  dpop_proofs: DpopProofsTable;
}

/** One row: who this installation is, and which root key opens it. */
export interface InstallationTable {
  tenant_id: string;
  installation_id: string;
  root_key_id: string;
  /** With the cost at which a passphrase becomes the root key (crypto/root-key.ts). */
  root_key_salt: Uint8Array;
  created_at: number;
}

export interface TenantsTable {
  tenant_id: string;
  name: string;
  status: 'active' | 'suspended';
  /** 1 for the tenant of whoever runs the installation; only it may manage tenants. */
  is_operator: number;
  plan: 'starter' | 'professional' | 'enterprise';
  /** JSON: requests a minute by rate class, where they differ from the plan's. */
  rate_overrides: string;
  /** Raised by every change that matters to access. */
  epoch: number;
  created_at: number;
  /** 1: whoever has no second factor can only enrol one. */
  require_mfa: number | null;
}

export interface KeysTable {
  tenant_id: string;
  purpose: string;
  version: number;
  /** Which key wraps this one: `root:<id>` or `tenant:<version>`. */
  wrapped_by: string;
  wrapped: Uint8Array;
  /** Sealing operations granted so far, in blocks, an upper bound of those done. */
  uses: number;
  created_at: number;
}

export interface SigningKeysTable {
  tenant_id: string;
  kid: string;
  public_jwk: string;
  sealed_private: Uint8Array;
  /** From when the key signs: published before, so that verifiers elsewhere have it in time. */
  signs_from: number;
  verifies_until: number;
  created_at: number;
}

/** Entries that were committed together. */
export interface AuditSegmentsTable {
  tenant_id: string;
  /** That of its latest entry, so that segments sort by time. */
  id: string;
  /** JSON: a list of entries, each a list of its fields (audit/entry.ts). */
  entries: string;
  /** Place of its first entry in the tenant's chain; null until it is linked, and `REFUSED` if it never will be. */
  first_seq: number | null;
  /** The hash of each entry, 32 bytes each, in order; null until sealed. */
  hashes: Uint8Array | null;
  /** On PostgreSQL: which node wrote it, as its how many-th of this tenant, and which of its numbers before were never committed. */
  node_id: string | null;
  node_no: number | null;
  /** JSON list. */
  voids: string | null;
  mac: Uint8Array | null;
  mac_key_version: number | null;
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
  /** Keyed, so that who edits the database cannot make a shorter or rewritten chain look whole. */
  mac: Uint8Array;
  mac_key_version: number;
}

/** One row: which journal there is, and up to which of its batches it has been moved into the log. */
export interface AuditJournalTable {
  tenant_id: string;
  journal_id: Uint8Array;
  moved: number;
  /** 0 once all of it is moved and no more will come. */
  is_open: number;
  /** Keyed, so that who edits the database cannot make batches that wait look moved. */
  mac: Uint8Array;
  mac_key_version: number;
}

export interface IdempotencyKeysTable {
  tenant_id: string;
  actor_id: string;
  key_hash: Uint8Array;
  status: number;
  sealed_body: Uint8Array;
  /** 1 if its key is derived from the caller's Idempotency-Key as well; 0 for what releases before 0.5.0 sealed. */
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
  owner: string;
  lease_until: number;
  next_run_at: number;
  last_started_at: number | null;
  last_finished_at: number | null;
  last_outcome: string;
  runs: number;
}

/** Where the spec wants integer ids, they are counted up in the tenant. */
export interface CountersTable {
  tenant_id: string;
  name: string;
  value: number;
}

/** Proofs that were used, for as long as they could be used again. */
export interface DpopProofsTable {
  tenant_id: string;
  proof: string;
  expires_at: number;
}

/** The tenant of rows that belong to the installation. Not of the form of a tenant id, so no tenant can be it. */
export const SYSTEM_TENANT = 'system';
