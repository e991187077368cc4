import type { PurposeKey } from '../crypto/keyring.ts';
import type { Tx } from '../storage/database.ts';
import type { AuditEntry } from './entry.ts';

/**
 * How entries get into the log and into the chain. On SQLite the one writer knows the order at once and links entries as it inserts
 * them; on PostgreSQL several nodes insert, and entries are linked just after commit.
 */
export interface AuditStore {
  /** Durable when it resolves. */
  append(entries: AuditEntry[]): Promise<void>;
  /** Commits or not with the change they describe, of one tenant. `headKey` is the tenant's, taken before the transaction. */
  appendIn(tx: Tx, entries: AuditEntry[], headKey: PurposeKey): Promise<void>;
  /** Links every entry that is committed and has no place yet; says how many. */
  seal(): Promise<number>;
}
