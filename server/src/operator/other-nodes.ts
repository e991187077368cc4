import postgres from 'postgres';
import type { Config } from '../kernel/config.ts';
import { StartError } from '../kernel/storage/data-folder.ts';

/**
 * A node that goes on with the old root key would wrap the key of a new tenant with it, and nothing would open that tenant again.
 * The folder's lock shows it on SQLite; on PostgreSQL the sessions of other nodes do, where the server tells of them.
 */
export async function refuseOtherNodes(config: Config): Promise<void> {
  if (config.databaseUrl === null) return;
  const sql = postgres(config.databaseUrl, {
    max: 1,
    connect_timeout: 5,
    onnotice: () => {},
    connection: { application_name: 'coffer rekey' },
  });
  try {
    const sessions = await sessionsOf(sql);
    if (sessions === 0) return;
    throw new StartError(
      `Coffer still runs on this database (${sessions} connections). Stop every node first, then repeat; nothing was changed.`,
    );
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Compatible engines may have no such view, and hosted ones may hide it: then it is up to the operator alone. */
const VIEW_ABSENT = new Set(['42P01', '42501', '0A000']);

async function sessionsOf(sql: postgres.Sql): Promise<number> {
  try {
    const [row] = await sql`select count(*)::integer as sessions from pg_stat_activity
      where datname = current_database() and application_name = 'coffer'`;
    return Number(row?.['sessions'] ?? 0);
  } catch (error) {
    if (VIEW_ABSENT.has((error as { code?: string }).code ?? '')) return 0;
    throw error;
  }
}
