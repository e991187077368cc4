import type { MacKey } from '../crypto/keyring.ts';
import type { Tx } from '../storage/database.ts';
import type { AuditEntry } from './entry.ts';

/**
 * How entries get into the log and into the chain. On SQLite the one writer links entries as it inserts them, those of reads and refusals a moment
 * after they are durable in a journal; on PostgreSQL several nodes insert, and entries are linked just after commit.
 */
export interface AuditStore {
  /** Durable when it resolves. */
  append(entries: AuditEntry[]): Promise<void>;
  /** Commits or not with the change they describe, of one tenant. `headKey` is the tenant's, taken before the transaction. */
  appendIn(tx: Tx, entries: AuditEntry[], headKey: MacKey): Promise<void>;
  /** Resolves when every entry that is durable now can be read. */
  settle(): Promise<void>;
  /** After an append has failed: resolves when a write like it has gone through. Never beside an append. */
  tryAgain(): Promise<void>;
  /** Links entries that are committed and have no place yet; says whether there are more of them than it links at once. */
  link(): Promise<boolean>;
  close(): Promise<void>;
}
