import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { Database } from '../../server/src/kernel/storage/database.ts';
import { listMigrations, migrate } from '../../server/src/kernel/storage/migrate.ts';
import { PostgresDatabase } from '../../server/src/kernel/storage/postgres.ts';
import { SqliteDatabase } from '../../server/src/kernel/storage/sqlite.ts';
import { newPostgresDatabase, stopOwnServer } from './postgres.ts';
import type { DatabaseKind } from './service.ts';

const opened: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of opened) await close();
  await stopOwnServer();
});

/** An empty database with the schema, closed when the file's tests are over. */
export async function openDatabase(kind: DatabaseKind, options: { migrated?: boolean } = {}): Promise<Database> {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-database-'));
  const database =
    kind === 'sqlite'
      ? new SqliteDatabase(join(folder, 'coffer.db'))
      : new PostgresDatabase(await newPostgresDatabase(), 4);
  opened.push(async () => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  if (options.migrated !== false) await migrate(database, listMigrations());
  return database;
}
