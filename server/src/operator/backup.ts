import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../kernel/config.ts';
import { rootKeyProvider } from '../kernel/crypto/root-key.ts';
import { StartError } from '../kernel/storage/data-folder.ts';
import { DATABASE_FILE, JOURNAL_FILE } from '../open-kernel.ts';
import { type BackupHeader, BackupWriter } from './backup-format.ts';
import { postgresSnapshot, type Row, type Snapshot, sqliteSnapshot } from './snapshot-store.ts';

/** Tells how far the schema is; each database has its own. */
export const VERSION_TABLE = 'schema_version';
export const JOURNAL_RECORD = '#journal';
export const END_RECORD = '#end';
const JOURNAL_PIECE_BYTES = 64 * 1024;

/**
 * Writes all there is into one encrypted file, while the service goes on. Audit entries that still wait in the journal are taken along: the
 * journal is copied before the snapshot is made, so whatever the snapshot lacks of that moment, the copy has.
 */
export async function backup(config: Config, target: string): Promise<string> {
  const file = resolve(target);
  if (existsSync(file)) throw new StartError('There is a file of that name already: choose another one, or remove it.');
  const journal = config.databaseUrl === null ? journalOf(config) : null;
  const snapshot = await snapshotOf(config);
  try {
    const header = await headerOf(config, snapshot);
    const root = rootKeyProvider(config.rootKey).load(Buffer.from(header.root_key_salt, 'base64'), false);
    if (root.id !== header.root_key_id) {
      throw new StartError(
        `The root key (${root.id}) is not that of this database, which needs ${header.root_key_id}.`,
      );
    }
    const writer = new BackupWriter(file, header, root.key);
    try {
      const counts = await writeAll(snapshot, journal, writer);
      const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
      return `${rows} rows of ${Object.keys(counts).length} tables are in ${file}. It opens with the root key ${root.id} and no other: keep that key apart from it.`;
    } catch (error) {
      writer.close();
      rmSync(file, { force: true });
      throw error;
    }
  } finally {
    await snapshot.close();
  }
}

async function snapshotOf({ databaseUrl, dataDir }: Config): Promise<Snapshot> {
  if (databaseUrl !== null) return postgresSnapshot(databaseUrl);
  const file = join(dataDir, DATABASE_FILE);
  if (existsSync(file)) return sqliteSnapshot(file);
  throw new StartError(
    `There is no Coffer database in ${dataDir}. Set CV_DATA_DIR or CV_DATABASE_URL as for the service.`,
  );
}

function journalOf({ dataDir }: Config): Buffer | null {
  const file = join(dataDir, JOURNAL_FILE);
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function headerOf(config: Config, snapshot: Snapshot): Promise<BackupHeader> {
  const installation = await first(snapshot, 'installation');
  const version = await first(snapshot, VERSION_TABLE);
  if (installation === undefined || version === undefined) {
    throw new StartError('The database holds nothing yet: start the service once, which sets it up.');
  }
  return {
    kind: config.databaseUrl === null ? 'sqlite' : 'postgres',
    schema: Number(version['version']),
    installation_id: String(installation['installation_id']),
    root_key_id: String(installation['root_key_id']),
    root_key_salt: Buffer.from(installation['root_key_salt'] as Uint8Array).toString('base64'),
    made_at: new Date().toISOString(),
  };
}

async function first(snapshot: Snapshot, table: string): Promise<Row | undefined> {
  if (!(await snapshot.tables()).includes(table)) return undefined;
  const all: Row[] = [];
  for await (const row of snapshot.rows(table)) all.push(row);
  return all[0];
}

async function writeAll(
  snapshot: Snapshot,
  journal: Buffer | null,
  writer: BackupWriter,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of await snapshot.tables()) {
    if (table === VERSION_TABLE) continue;
    let count = 0;
    for await (const row of snapshot.rows(table)) {
      writer.write([table, encoded(row)]);
      count++;
    }
    counts[table] = count;
  }
  for (let at = 0; journal !== null && at < journal.length; at += JOURNAL_PIECE_BYTES) {
    const piece = journal.subarray(at, at + JOURNAL_PIECE_BYTES);
    // It has its size at once, and is mostly empty.
    if (piece.some((byte) => byte !== 0)) writer.write([JOURNAL_RECORD, at, piece.toString('base64')]);
  }
  writer.write([END_RECORD, { counts, journal_bytes: journal?.length ?? 0 }]);
  writer.finish();
  return counts;
}

/** Bytes as `{"$": base64}`: no other value is an object. */
function encoded(row: Row): Row {
  const plain: Row = {};
  for (const [column, value] of Object.entries(row)) {
    plain[column] = value instanceof Uint8Array ? { $: Buffer.from(value).toString('base64') } : value;
  }
  return plain;
}
