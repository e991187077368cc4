import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { lockDataFolder, makeDataFolder, refuseFullDisk, StartError } from '../kernel/base/data-folder.ts';
import type { Database } from '../kernel/storage/database.ts';
import {
  endingMigration,
  listMigrations,
  type Migration,
  migrate,
  requireMigrated,
  schemaAfter,
} from '../kernel/storage/migrate.ts';
import { refuseOlderNodes } from '../kernel/storage/node-sessions.ts';
import { PostgresDatabase } from '../kernel/storage/postgres.ts';
import { SharedSqlite } from '../kernel/storage/shared-sqlite/shared-sqlite.ts';
import { WriteClient } from '../kernel/storage/shared-sqlite/write-client.ts';
import { SqliteDatabase } from '../kernel/storage/sqlite.ts';
import { refuseTransactionPooling } from '../kernel/storage/transaction-pooling.ts';
import type { Config } from '../settings/config.ts';
import { installationThere } from './installation.ts';

export const DATABASE_FILE = 'coffer.db';

export interface OpenedStorage {
  database: Database;
  /** The migrations that this call ran, in order. */
  applied: readonly string[];
  schemaVersion: number;
  close(): Promise<void>;
}

/** Opens the data folder and the database, and brings its schema up to date, unless another worker has done so. */
export async function openStorage(
  config: Config,
  { isMigrated = false, mayBeNewer = false, endsOlderNodes = false, needsRoom = false, isShared = false } = {},
): Promise<OpenedStorage> {
  makeDataFolder(config.dataDir);
  const lock = config.databaseUrl === null ? lockDataFolder(config.dataDir) : null;
  let database: Database | undefined;
  const close = async () => {
    await database?.close();
    lock?.release();
  };
  try {
    if (needsRoom && lock !== null) refuseFullDisk(config.dataDir);
    if (config.databaseUrl !== null) await refuseTransactionPooling(config.databaseUrl);
    database =
      config.databaseUrl === null
        ? new SqliteDatabase(join(config.dataDir, DATABASE_FILE), { isShared })
        : new PostgresDatabase(config.databaseUrl, config.databasePool);
    if (database instanceof PostgresDatabase) await refuseEmptyBesideUsed(config, database);
    const migrations = listMigrations();
    if (isMigrated) await requireMigrated(database, migrations);
    else if (database instanceof PostgresDatabase && !endsOlderNodes) await refuseOlderNodesOn(database, migrations);
    const { applied } = isMigrated ? { applied: [] } : await migrate(database, migrations, { mayBeNewer });
    return { database, applied, schemaVersion: schemaAfter(migrations), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens the SQLite database of the worker that writes, which has locked the data folder and brought the schema up to date. */
export async function openSharedStorage(config: Config, writerPath: string): Promise<OpenedStorage> {
  const writer = await WriteClient.connect(writerPath);
  const database = new SharedSqlite(join(config.dataDir, DATABASE_FILE), writer);
  const migrations = listMigrations();
  try {
    await requireMigrated(database, migrations);
  } catch (error) {
    await database.close();
    throw error;
  }
  return { database, applied: [], schemaVersion: schemaAfter(migrations), close: () => database.close() };
}

/** The schema would refuse their statements (recording-fence.ts), so callers would get errors from then on. */
async function refuseOlderNodesOn(database: PostgresDatabase, migrations: readonly Migration[]): Promise<void> {
  const ending = await endingMigration(database, migrations);
  if (ending !== undefined) await refuseOlderNodes((text) => sql.raw<never>(text).execute(database.read), ending);
}

/** An operator who sets CV_DATABASE_URL for the first time expects their data to be there. An empty installation would look as if all were lost. */
async function refuseEmptyBesideUsed({ dataDir }: Config, database: PostgresDatabase): Promise<void> {
  const file = join(dataDir, DATABASE_FILE);
  if (!existsSync(file) || (await installationThere(database)) !== null) return;
  throw new StartError(
    `There is a Coffer database in ${dataDir}, and the PostgreSQL database in CV_DATABASE_URL is empty. To continue with the existing data, run ` +
      `"coffer server copy --to URL" without CV_DATABASE_URL; to start a new installation, move ${file} out of the folder. Nothing was changed.`,
  );
}
