import type { MacKey } from '../../keys/keyring.ts';
import type { Tx } from '../../storage/database.ts';
import type { AuditEntry } from '../entry/entry.ts';

/**
 * How entries get into the log and into the chain. On SQLite the only writer links entries as it inserts them; those of reads and refusals are
 * first durable in a journal. On PostgreSQL several nodes insert, and entries are linked just after the commit.
 */
export interface AuditStore {
  /** The entries are durable when it resolves. */
  append(entries: AuditEntry[]): Promise<void>;
  /** The entries of one tenant, which commit with the change they describe or not at all. `headKey` must be loaded before the transaction. */
  appendIn(tx: Tx, entries: AuditEntry[], headKey: MacKey): Promise<void>;
  /** Resolves when every entry that is durable now can be read. */
  settle(): Promise<void>;
  /** Called after a failed append; resolves once a similar write has succeeded. Never runs concurrently with an append. */
  probeWrite(): Promise<void>;
  /** Links committed entries that are not linked yet. Returns whether there are more than it links in one call. */
  link(): Promise<boolean>;
  /** Whether the last call of `link` found nothing that it, or a later one, has to link. */
  readonly isIdle: boolean;
  /**
   * Links everything of this tenant that is committed, and waits for another node that is linking. Returns the nodes whose segments stay unlinked,
   * because an earlier one of the same node may still be committed.
   */
  linkAll(tenantId: string): Promise<ReadonlySet<string>>;
  /** How long the oldest entry that is not linked yet has waited; 0 if there is none. */
  linkLagMs(): Promise<number>;
  close(): Promise<void>;
}
