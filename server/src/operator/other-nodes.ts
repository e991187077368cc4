import type pg from 'pg';
import type { Config } from '../kernel/config.ts';
import { StartError } from '../kernel/storage/data-folder.ts';
import { ScramClient } from '../kernel/storage/scram-client.ts';

const CONNECT_TIMEOUT_MS = 5000;

/**
 * A node still running with the old root key would wrap the key of a new tenant with it, and that tenant could never be opened again. On SQLite the
 * lock of the data folder shows a running node; on PostgreSQL the sessions of other nodes do, if the server exposes them.
 */
export async function refuseOtherNodes(config: Config): Promise<void> {
  if (config.databaseUrl === null) return;
  const client = new ScramClient({
    connectionString: config.databaseUrl,
    application_name: 'coffer rekey',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  await client.connect();
  try {
    const sessions = await sessionsOf(client);
    if (sessions === 0) return;
    throw new StartError(
      `Coffer still runs on this database (${sessions} connections). Stop every node first, then repeat; nothing was changed.`,
    );
  } finally {
    await client.end();
  }
}

/** Compatible engines may lack this view, and hosted ones may hide it; then the operator must make sure. */
const VIEW_ABSENT = new Set(['42P01', '42501', '0A000']);
const COUNT_SESSIONS = `select count(*)::integer as sessions from pg_stat_activity
  where datname = current_database() and application_name = 'coffer'`;

async function sessionsOf(client: pg.Client): Promise<number> {
  try {
    const { rows } = await client.query<{ sessions: number }>(COUNT_SESSIONS);
    return rows[0]?.sessions ?? 0;
  } catch (error) {
    if (VIEW_ABSENT.has((error as { code?: string }).code ?? '')) return 0;
    throw error;
  }
}
