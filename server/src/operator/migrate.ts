import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { connectTo } from '../kernel/storage/database-servers.ts';
import {
  type LoadedMigration,
  listMigrations,
  type Migration,
  refuseOlder,
  schemaAfter,
} from '../kernel/storage/migrate.ts';
import { describeOlderNodes, findOlderNodes, type OlderNodes } from '../kernel/storage/node-sessions.ts';
import type { Config } from '../settings/config.ts';
import { DATABASE_FILE } from '../start/open-storage.ts';
import { requireDatabase, withStorage } from './with-kernel.ts';

/** Runs the migrations that every start runs first, for operators who want to change the schema before nodes of a new release start. */
export function bringUpToDate(config: Config, { endsOlderNodes = false } = {}): Promise<string> {
  return withStorage(config, (_, applied) => Promise.resolve(appliedText(applied)), { endsOlderNodes });
}

function appliedText(applied: readonly string[]): string {
  if (applied.length === 0) return 'The schema is up to date; no migrations were applied.';
  return `The schema is up to date; ${applied.length} ${applied.length === 1 ? 'migration was' : 'migrations were'} applied: ${applied.join(', ')}.`;
}

/** Says what `bringUpToDate` would do, and changes nothing. The service may be running. */
export async function planMigration(config: Config): Promise<string> {
  requireDatabase(config);
  const migrations = listMigrations();
  const known = schemaAfter(migrations);
  const { version, older } = await (config.databaseUrl === null
    ? sqliteState(join(config.dataDir, DATABASE_FILE))
    : postgresState(config.databaseUrl, known));
  refuseOlder(version, migrations);
  if (version > known)
    return `The schema has version ${version}, newer than this release knows (${known}): it belongs to a newer release.`;
  const pending = await Promise.all(
    migrations
      .filter((migration) => migration.version > version)
      .map(async (migration) => ({ ...migration, ...(await migration.load()) })),
  );
  if (pending.length === 0) return `The schema is up to date at version ${version}; no migrations would be applied.`;
  const title = `${pending.length === 1 ? 'One migration' : `${pending.length} migrations`} would be applied, from schema version ${version} to ${known}:`;
  return [title, ...pending.map(planned), '', adviceFor(pending, older)].join('\n');
}

function planned({ version, name, description, isAdditive }: Migration & LoadedMigration): string {
  return `  ${String(version).padStart(4, '0')} ${name}${isAdditive ? '' : ' (ends earlier releases)'}\n       ${description}`;
}

function adviceFor(pending: readonly LoadedMigration[], older: OlderNodes | null): string {
  if (pending.every(({ isAdditive }) => isAdditive))
    return 'Nodes of the release before can go on meanwhile: replace one after the other.';
  if (older === null) return 'Stop the service first, and make a backup.';
  const seen = older.connections === 0 ? 'None is seen now.' : describeOlderNodes(older);
  return `Stop every node of an earlier release first, and make a backup. ${seen} While one is seen, this release neither starts nor migrates. From the first migration that ends earlier releases on, the database refuses whatever their nodes would record, so they commit no change and answer 503.`;
}

interface StoredState {
  version: number;
  /** Null on SQLite, which one process has to itself. */
  older: OlderNodes | null;
}

async function sqliteState(file: string): Promise<StoredState> {
  return { version: sqliteVersion(file), older: null };
}

function sqliteVersion(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const hasTable = database.prepare(`select 1 from sqlite_master where name = 'schema_version'`).get() !== undefined;
    return hasTable ? Number(database.prepare('select version from schema_version').get()?.['version']) : 0;
  } finally {
    database.close();
  }
}

async function postgresState(url: string, schema: number): Promise<StoredState> {
  const client = await connectTo(url, { application_name: 'coffer migrate' });
  try {
    const older = await findOlderNodes((sql) => client.query(sql), schema);
    const tables = await client.query(`select to_regclass('schema_version') is not null as found`);
    if (tables.rows[0]?.found !== true) return { version: 0, older };
    return { version: Number((await client.query('select version from schema_version')).rows[0]?.version), older };
  } finally {
    await client.end();
  }
}
