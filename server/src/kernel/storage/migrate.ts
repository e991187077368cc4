import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { StartError } from './data-folder.ts';
import type { Database, DatabaseKind } from './database.ts';
import { fixStatistics } from './sqlite-statistics.ts';

export type SchemaBuilder = Kysely<unknown>['schema'];
type ColumnType = 'text' | 'integer' | 'bigint' | 'blob' | 'bytea' | RawBuilder<unknown>;
export interface Columns {
  text: ColumnType;
  integer: ColumnType;
  bigint: ColumnType;
  blob: ColumnType;
  /**
   * Appended to a table that is accessed by its primary key: on SQLite the table is then stored in the key's own B-tree, without a separate index.
   */
  byPrimaryKey: RawBuilder<unknown>;
}

export interface Migration {
  version: number;
  name: string;
  up(schema: SchemaBuilder, columns: Columns, data: MigrationData): Promise<void>;
}

/** Moves data from old columns to new ones, in plain SQL that is the same on both databases. */
export interface MigrationData {
  run(statement: RawBuilder<unknown>): Promise<void>;
}

/** The C collation makes PostgreSQL compare text byte by byte like SQLite, so that names and cursors sort the same on both. */
const COLUMNS: Record<DatabaseKind, Columns> = {
  sqlite: { text: 'text', integer: 'integer', bigint: 'bigint', blob: 'blob', byPrimaryKey: sql`without rowid` },
  postgres: { text: sql`text collate "C"`, integer: 'integer', bigint: 'bigint', blob: 'bytea', byPrimaryKey: sql`` },
};

const FOLDER = join(import.meta.dirname, '../../../migrations');
const FILE_NAME = /^(\d{4})-([a-z0-9-]+)\.ts$/;

export async function loadMigrations(folder: string = FOLDER): Promise<Migration[]> {
  const migrations: Migration[] = [];
  for (const file of (await readdir(folder)).sort()) {
    const match = FILE_NAME.exec(file);
    if (match === null) throw new Error(`not a migration: ${file}`);
    const { up } = (await import(join(folder, file))) as Pick<Migration, 'up'>;
    migrations.push({ version: Number(match[1]), name: String(match[2]), up });
  }
  migrations.forEach((migration, i) => {
    if (migration.version !== i + 1) throw new Error(`migration ${migration.version} is out of order`);
  });
  return migrations;
}

/**
 * Migrates the schema: forward only, each step in its own transaction. The row lock on `schema_version` serializes nodes that start together. A
 * schema newer than this code is refused, because older code could damage it.
 */
export async function migrate(database: Database, migrations: Migration[]): Promise<{ applied: string[] }> {
  await createVersionTable(database);
  const applied: string[] = [];
  for (const migration of migrations) {
    await database.transaction(async (tx) => {
      const db = tx as unknown as Kysely<{ schema_version: { id: number; version: number } }>;
      const version = await lockedVersion(db);
      if (version > migrations.length) {
        throw new StartError(
          `The database has schema version ${version}, newer than this release supports (${migrations.length}). Start a newer release.`,
        );
      }
      if (version >= migration.version) return;
      const data = {
        run: async (statement: RawBuilder<unknown>) => {
          await statement.execute(db);
        },
      };
      await migration.up(db.schema, COLUMNS[database.kind], data);
      await db.updateTable('schema_version').set({ version: migration.version }).execute();
      applied.push(migration.name);
    });
  }
  if (database.kind === 'sqlite') await fixStatistics(database);
  return { applied };
}

/** For a worker that is started later than the first one of its command: the schema is not its to change. */
export async function requireMigrated(database: Database, migrations: readonly Migration[]): Promise<void> {
  const db = database.read as unknown as Kysely<{ schema_version: { id: number; version: number } }>;
  const { version } = await db.selectFrom('schema_version').select('version').executeTakeFirstOrThrow();
  if (version === migrations.length) return;
  throw new StartError(
    `The database has schema version ${version}, and the files of this release expect ${migrations.length}: they were replaced while the service was running. Stop the service and start it again.`,
  );
}

async function lockedVersion(db: Kysely<{ schema_version: { id: number; version: number } }>): Promise<number> {
  const row = await db.selectFrom('schema_version').select('version').forUpdate().executeTakeFirstOrThrow();
  return row.version;
}

/** Two nodes may create it at once. PostgreSQL then fails one of them with a unique violation, which means that the table exists. */
async function createVersionTable(database: Database): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await database.transaction(async (tx) => {
        await sql`create table if not exists schema_version (id integer primary key, version integer not null)`.execute(
          tx,
        );
        await sql`insert into schema_version (id, version) values (1, 0) on conflict (id) do nothing`.execute(tx);
      });
      return;
    } catch (error) {
      if (attempt === 5) throw error;
    }
  }
}
