import { sql } from 'kysely';
import type { Database } from './database.ts';

/** Compares the connections that this command may open with those that PostgreSQL allows; null if they fit, or on SQLite. */
export async function connectionShortage(
  database: Database,
  { workers, databasePool }: { workers: number; databasePool: number },
): Promise<string | null> {
  if (database.kind === 'sqlite') return null;
  const { rows } = await sql<{ max: number; reserved: number }>`select current_setting('max_connections')::int as max,
    current_setting('superuser_reserved_connections')::int as reserved`.execute(database.read);
  const [{ max, reserved } = { max: Number.POSITIVE_INFINITY, reserved: 0 }] = rows;
  const wanted = workers * databasePool;
  if (wanted <= max - reserved) return null;
  const of = workers === 1 ? '' : ` (${workers} workers with ${databasePool} each)`;
  return (
    `This node may open ${wanted} connections to PostgreSQL${of}, which allows ${max - reserved} (max_connections is ${max}, of which ${reserved} are ` +
    'reserved): raise max_connections, or lower CV_DATABASE_POOL or CV_WORKERS. Other nodes and programs need connections too.'
  );
}
