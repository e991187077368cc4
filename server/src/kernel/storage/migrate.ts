import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { StartError } from '../base/data-folder.ts';
import type { Database, DatabaseKind } from './database.ts';
import { FENCED_SINCE, refuseToRecord } from './recording-fence.ts';
import { MIGRATIONS_FOLDER, migrationFiles } from './schema-version.ts';
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

/** One file of `migrations/`, which is read only if it is to be applied or shown. */
export interface Migration {
  version: number;
  name: string;
  load(): Promise<LoadedMigration>;
}

export interface LoadedMigration {
  /** What the migration does, for operators: the comment of its `up`. */
  description: string;
  /**
   * Whether the migration only adds what nodes of the release before do not use. They may then go on during it and afterwards; otherwise they are
   * refused as soon as it begins.
   */
  isAdditive: boolean;
  up(schema: SchemaBuilder, columns: Columns, data: MigrationData, version: number): Promise<void>;
}

/** `oldest` is the oldest schema version whose releases may use the database. Databases of releases before 0.5.0 do not have the column. */
interface VersionRow {
  id: number;
  version: number;
  oldest?: number | undefined;
}
type VersionTable = Kysely<{ schema_version: VersionRow }>;

/** Moves data from old columns to new ones, in plain SQL that is the same on both databases. */
export interface MigrationData {
  run(statement: RawBuilder<unknown>): Promise<void>;
}

/** The C collation makes PostgreSQL compare text byte by byte like SQLite, so that names and cursors sort the same on both. */
const COLUMNS: Record<DatabaseKind, Columns> = {
  sqlite: { text: 'text', integer: 'integer', bigint: 'bigint', blob: 'blob', byPrimaryKey: sql`without rowid` },
  postgres: { text: sql`text collate "C"`, integer: 'integer', bigint: 'bigint', blob: 'bytea', byPrimaryKey: sql`` },
};

/** Every migration of this release, in order. */
export function listMigrations(folder: string = MIGRATIONS_FOLDER): Migration[] {
  return migrationFiles(folder).map(({ file, version, name }) => ({
    version,
    name,
    load: () => loadMigration(join(folder, file)),
  }));
}

/** The version of the schema that the last of them makes. */
export function schemaAfter(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 0;
}

async function loadMigration(path: string): Promise<LoadedMigration> {
  const { up, isAdditive = false } = (await import(path)) as Pick<LoadedMigration, 'up'> & Partial<LoadedMigration>;
  return { up, isAdditive, description: descriptionIn(await readFile(path, 'utf8')) };
}

/** The comment of the function `up`, on one line. */
function descriptionIn(source: string): string {
  const [before = '', after] = source.split('export async function up');
  const end = before.trimEnd();
  if (after === undefined || !end.endsWith('*/')) return '';
  const lines = end.slice(end.lastIndexOf('/**') + '/**'.length, -'*/'.length).split('\n');
  return lines
    .map((line) => line.trim().replace(/^\* ?/, ''))
    .join(' ')
    .trim();
}

/**
 * Migrates the schema: forward only, each step in its own transaction. The row lock on `schema_version` serializes nodes that start together. A
 * schema newer than this code is refused, because older code could damage it; a node, but no other command, may use it if all that is newer only
 * added to it.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  { mayBeNewer = false } = {},
): Promise<{ applied: string[] }> {
  const known = schemaAfter(migrations);
  const refuseNewer = ({ version, oldest }: VersionRow) => {
    if (version <= known || (mayBeNewer && isUsable(oldest, migrations))) return;
    throw new StartError(
      `The database has schema version ${version}, newer than this release supports (${known}). Start a newer release.`,
    );
  };
  await createVersionTable(database);
  const found = await lastVersion(database);
  refuseNewer(found);
  refuseOlder(found.version, migrations);
  const applied: string[] = [];
  for (const migration of migrations.filter(({ version }) => version > found.version)) {
    const { up, isAdditive } = await migration.load();
    await database.transaction(async (tx) => {
      const db = tx as unknown as VersionTable;
      const locked = await lockedVersion(db);
      refuseNewer(locked);
      const { version, oldest } = locked;
      if (version >= migration.version) return;
      const data = {
        run: async (statement: RawBuilder<unknown>) => {
          await statement.execute(db);
        },
      };
      const below = migration.version;
      // Older nodes are stopped before anything changes. A database that this call creates has none.
      const mayHaveNodes = database.kind === 'postgres' && found.version > 0;
      if (mayHaveNodes && !isAdditive) await refuseToRecord(db, { below, version });
      await up(db.schema, COLUMNS[database.kind], data, migration.version);
      await db.updateTable('schema_version').set({ version: migration.version }).execute();
      if (database.kind === 'postgres' && migration.version === FENCED_SINCE)
        await refuseToRecord(db, { below, version: migration.version });
      if (oldest !== undefined && !isAdditive) await refuseOlderNodes(db, migration.version);
      applied.push(migration.name);
    });
  }
  if (database.kind === 'sqlite') await fixStatistics(database);
  return { applied };
}

/** The schemas of very old releases cannot be upgraded; 0 is that of an empty database. */
export function refuseOlder(version: number, [oldest]: readonly Migration[]): void {
  if (version === 0 || oldest === undefined || version >= oldest.version) return;
  throw new StartError(
    'The data was written by a release before 0.4.0. Start the last 0.4 release on it once, which upgrades it, then this release. Nothing was changed.',
  );
}

/** A running node compares the schema version when the epoch of a tenant rises (schema-fence.ts). */
async function refuseOlderNodes(db: VersionTable, oldest: number): Promise<void> {
  await db.updateTable('schema_version').set({ oldest }).execute();
  await sql`update tenants set epoch = epoch + 1`.execute(db);
}

function isUsable(oldest: number | undefined, migrations: readonly Migration[]): boolean {
  return oldest !== undefined && oldest <= schemaAfter(migrations);
}

/** The newest pending migration that ends earlier releases; undefined if all pending ones only add, or the database is new. */
export async function endingMigration(
  database: Database,
  migrations: readonly Migration[],
): Promise<number | undefined> {
  await createVersionTable(database);
  const { version } = await lastVersion(database);
  if (version === 0) return undefined;
  const pending = migrations.filter((migration) => migration.version > version).toReversed();
  for (const migration of pending) if (!(await migration.load()).isAdditive) return migration.version;
  return undefined;
}

async function lastVersion(database: Database): Promise<VersionRow> {
  const db = database.read as unknown as VersionTable;
  return db.selectFrom('schema_version').selectAll().executeTakeFirstOrThrow();
}

/** Only the first worker of a command migrates. Each later one calls this, which refuses a schema of another release. */
export async function requireMigrated(database: Database, migrations: readonly Migration[]): Promise<void> {
  const { version, oldest } = await lastVersion(database);
  const known = schemaAfter(migrations);
  if (version === known || (version > known && isUsable(oldest, migrations))) return;
  throw new StartError(
    `The database has schema version ${version}, and the files of this release expect ${known}: they were replaced while the service was running. Stop the service and start it again.`,
  );
}

async function lockedVersion(db: VersionTable): Promise<VersionRow> {
  return db.selectFrom('schema_version').selectAll().forUpdate().executeTakeFirstOrThrow();
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
