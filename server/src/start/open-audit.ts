import { join } from 'node:path';
import { ANCHOR_FILE, Anchor } from '../kernel/audit/chain/anchor.ts';
import { Heads } from '../kernel/audit/chain/heads.ts';
import { MISSING_JOURNAL, missingJournalEntry } from '../kernel/audit/journal/journal-recovery.ts';
import { JournalKeys } from '../kernel/audit/journal/journal-state.ts';
import { SharedAuditStore } from '../kernel/audit/journal/shared-audit-store.ts';
import { SqliteAuditStore } from '../kernel/audit/journal/sqlite-audit-store.ts';
import { PostgresAuditStore } from '../kernel/audit/postgres/postgres-audit-store.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import type { RootKey } from '../kernel/crypto/root-key.ts';
import { findUncheckedOperator } from '../kernel/integrity/tenant-rows.ts';
import type { KernelWithoutOperator } from '../kernel/request/kernel.ts';
import type { PostgresDatabase } from '../kernel/storage/postgres.ts';
import { SharedSqlite } from '../kernel/storage/shared-sqlite/shared-sqlite.ts';
import { SqliteDatabase } from '../kernel/storage/sqlite.ts';

export const JOURNAL_FILE = 'audit.journal';

type AuditParts = Pick<
  KernelWithoutOperator,
  'config' | 'clock' | 'time' | 'log' | 'metrics' | 'database' | 'keyring' | 'nodeId'
>;

/**
 * Opens where audit entries are stored, and the heads of their chains with the anchor outside of the database. `unauthenticated` are the tenants
 * whose rows have no MACs yet.
 */
export async function openAudit(
  parts: AuditParts,
  { root, isRootCertain }: { root: RootKey; isRootCertain: boolean },
  unauthenticated: readonly string[],
) {
  const { config, database, keyring, log, metrics } = parts;
  const anchor = Anchor.open({ file: join(config.dataDir, ANCHOR_FILE), root, isRootCertain, log, metrics });
  refuseOlderRelease(anchor, unauthenticated);
  const heads = new Heads(keyring, anchor);
  if (database instanceof SqliteDatabase) return { heads, store: await openJournaled({ ...parts, database, heads }) };
  if (database instanceof SharedSqlite) return { heads, store: new SharedAuditStore(database) };
  return { heads, store: new PostgresAuditStore({ ...parts, database: database as PostgresDatabase, heads }) };
}

/** Rows that were authenticated once are not authenticated anew: somebody put back an older database, perhaps with forged rows. */
function refuseOlderRelease(anchor: Anchor, unauthenticated: readonly string[]): void {
  const [tenantId] = unauthenticated.filter((id) => anchor.seen(id) !== undefined);
  if (tenantId === undefined) return;
  throw new StartError(
    `The database is older than before: the rows of ${tenantId} were authenticated, and are not any more. Restore the newer database, or restore a backup ` +
      `with "coffer server restore"; or, to continue with this one, move ${ANCHOR_FILE} out of the data folder. Nothing was changed.`,
  );
}

/** Writes the entries in the last process's journal to the database before anything else happens. */
async function openJournaled(
  parts: AuditParts & { database: SqliteDatabase; heads: Heads },
): Promise<SqliteAuditStore> {
  const { config, clock, database, heads, keyring, log } = parts;
  const file = join(config.dataDir, JOURNAL_FILE);
  const store = new SqliteAuditStore({ database, heads, keys: new JournalKeys(keyring), file, log, clock });
  await store.recover(async () => {
    log.warn({ file }, MISSING_JOURNAL);
    const operator = await findUncheckedOperator(database.read);
    if (operator === undefined) return async () => {};
    const headKey = await heads.key(operator.tenant_id);
    const entry = missingJournalEntry(operator.tenant_id, clock.now());
    return (tx) => store.appendIn(tx, [entry], headKey);
  });
  return store;
}
