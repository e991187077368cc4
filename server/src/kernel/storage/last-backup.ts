import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from './database.ts';
import { connectTo } from './database-servers.ts';

/** A file in the data folder: with SQLite only the service writes to the database, and the backup command runs beside it. */
const LAST_BACKUP_FILE = 'last-backup.json';

/** Where an installation is stored, as its settings name it. */
interface Location {
  databaseUrl: string | null;
  dataDir: string;
}

/** Stores when a backup was made, for the metrics of the service: in PostgreSQL, which outlives every node, or beside the file of SQLite. */
export async function recordLastBackup({ databaseUrl, dataDir }: Location, madeAt: number): Promise<void> {
  if (databaseUrl === null) return writeFileOf(dataDir, madeAt);
  const client = await connectTo(databaseUrl, { application_name: 'coffer backup' });
  try {
    await client.query('update installation set last_backup_at = $1', [madeAt]);
  } finally {
    await client.end();
  }
}

function writeFileOf(dataDir: string, madeAt: number): void {
  const file = join(dataDir, LAST_BACKUP_FILE);
  writeFileSync(`${file}.tmp`, `${JSON.stringify({ made_at: new Date(madeAt).toISOString() })}\n`, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
}

/** Returns when the last backup was made; 0 if there was none. */
export async function findLastBackup(database: Database, dataDir: string): Promise<number> {
  if (database.kind === 'sqlite') return readFileOf(dataDir);
  const row = await database.read.selectFrom('installation').select('last_backup_at').executeTakeFirst();
  return row?.last_backup_at ?? 0;
}

function readFileOf(dataDir: string): number {
  try {
    const { made_at } = JSON.parse(readFileSync(join(dataDir, LAST_BACKUP_FILE), 'utf8')) as { made_at?: string };
    return Date.parse(made_at ?? '') || 0;
  } catch (error) {
    // A file that cannot be read says nothing about a backup, and the alert for a missing one is then right.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
