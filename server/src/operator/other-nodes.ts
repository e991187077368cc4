import type pg from 'pg';
import type { Config } from '../kernel/platform/config.ts';
import { StartError } from '../kernel/storage/data-folder.ts';
import { connectTo } from '../kernel/storage/database-servers.ts';

const CONNECT_TIMEOUT_MS = 5000;

/**
 * A node still running with the old root key would wrap the key of a new tenant with it, and the data of that tenant could never be decrypted again.
 * On SQLite the lock of the data folder shows a running node; on PostgreSQL the sessions of other nodes do, if the server exposes them.
 */
export async function refuseOtherNodes(config: Config): Promise<void> {
  if (config.databaseUrl === null) return;
  const client = await connectTo(config.databaseUrl, {
    application_name: 'coffer rekey',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  try {
    const sessions = await countSessions(client);
    if (sessions === 0) return;
    throw new StartError(
      `Coffer is still running on this database (${sessions} connections). Stop every node first, then retry; nothing was changed.`,
    );
  } finally {
    await client.end();
  }
}

/** PostgreSQL-compatible databases may lack pg_stat_activity, and hosted ones may hide it. Then the operator has to check that no node is running. */
const VIEW_UNAVAILABLE = new Set(['42P01', '42501', '0A000']);
const COUNT_SESSIONS = `select count(*)::integer as sessions from pg_stat_activity
  where datname = current_database() and application_name = 'coffer'`;

async function countSessions(client: pg.Client): Promise<number> {
  try {
    const { rows } = await client.query<{ sessions: number }>(COUNT_SESSIONS);
    return rows[0]?.sessions ?? 0;
  } catch (error) {
    if (VIEW_UNAVAILABLE.has((error as { code?: string }).code ?? '')) return 0;
    throw error;
  }
}
