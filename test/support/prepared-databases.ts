import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../server/src/kernel/storage/database.ts';
import { listMigrations, migrate } from '../../server/src/kernel/storage/migrate.ts';
import { PostgresDatabase } from '../../server/src/kernel/storage/postgres.ts';
import { SqliteDatabase } from '../../server/src/kernel/storage/sqlite.ts';
import { FILE_VARIABLE } from './migrated-file.ts';
import { databaseOn, MIGRATED, query } from './postgres.ts';

/** Makes a database of each kind for tests to copy: applying each migration takes longer than copying what they leave. */
export async function prepareDatabases(postgresUrl: string, folder: string): Promise<void> {
  await query(postgresUrl, `create database ${MIGRATED}`);
  await prepare(new PostgresDatabase(databaseOn(postgresUrl, MIGRATED), 2));
  const file = join(folder, 'migrated.db');
  await prepare(new SqliteDatabase(file));
  chmodSync(file, 0o600);
  process.env[FILE_VARIABLE] = file;
}

async function prepare(database: Database): Promise<void> {
  await migrate(database, listMigrations());
  await database.close();
}
