import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../kernel/base/data-folder.ts';
import type { RootKey } from '../kernel/crypto/root-key.ts';
import type { Config } from '../settings/config.ts';
import { JOURNAL_FILE } from '../start/open-audit.ts';
import { openRootKey } from '../start/open-root-key.ts';
import { DATABASE_FILE } from '../start/open-storage.ts';
import { type BackupHeader, lockedIn } from './backup-format.ts';
import type { SourceRecord } from './fill-database.ts';
import { postgresSnapshot, type Row, type Snapshot, sqliteSnapshot } from './snapshot-store.ts';

/** Holds the schema version; each database has its own. */
const VERSION_TABLE = 'schema_version';
const JOURNAL_PIECE_BYTES = 64 * 1024;

/** A consistent snapshot of an installation, and the root key that opens it. */
export interface InstallationSnapshot {
  header: BackupHeader;
  root: RootKey;
  /** Rows by table, then the journal, and the counts last. */
  records(): AsyncGenerator<SourceRecord>;
  rows(table: string): AsyncIterable<Row>;
  /** How many rows `records` has. */
  rowCount(): Promise<number>;
  close(): Promise<void>;
}

/**
 * Audit entries still in the journal are included: the journal is copied before the snapshot is made, so the copy has whatever the snapshot lacks.
 */
export async function installationSnapshot(config: Config): Promise<InstallationSnapshot> {
  const journal = config.databaseUrl === null ? journalOf(config) : null;
  const snapshot = await snapshotOf(config);
  try {
    const header = await headerOf(config, snapshot);
    const { root } = await openRootKey(config, lockedIn(header));
    return {
      header,
      root,
      records: () => recordsOf(snapshot, journal),
      rows: (table) => snapshot.rows(table),
      rowCount: () => rowCountOf(snapshot),
      close: () => snapshot.close(),
    };
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

async function snapshotOf({ databaseUrl, dataDir }: Config): Promise<Snapshot> {
  if (databaseUrl !== null) return postgresSnapshot(databaseUrl);
  const file = join(dataDir, DATABASE_FILE);
  if (existsSync(file)) return sqliteSnapshot(file);
  throw new StartError(
    `There is no Coffer database in ${dataDir}. Set CV_DATA_DIR or CV_DATABASE_URL to the same value as for the service.`,
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
    throw new StartError('The database is empty: start the service once to initialize it.');
  }
  const copies = await copiesIn(snapshot, String(installation['root_key_id']));
  return {
    kind: config.databaseUrl === null ? 'sqlite' : 'postgres',
    schema: Number(version['version']),
    installation_id: String(installation['installation_id']),
    root_key_id: String(installation['root_key_id']),
    root_key_salt: Buffer.from(installation['root_key_salt'] as Uint8Array).toString('base64'),
    made_at: new Date().toISOString(),
    ...(copies.length > 0 && { seals: copies }),
  };
}

/** The copies of the current root key, so that any one seal of today restores the backup. */
async function copiesIn(snapshot: Snapshot, rootKeyId: string): Promise<NonNullable<BackupHeader['seals']>> {
  const copies: NonNullable<BackupHeader['seals']> = [];
  if (!(await snapshot.tables()).includes('seals')) return copies;
  for await (const row of snapshot.rows('seals')) {
    if (row['root_key_id'] !== rootKeyId) continue;
    const sealed = Buffer.from(row['sealed'] as Uint8Array).toString('base64');
    copies.push({ reference: String(row['reference']), sealed });
  }
  return copies;
}

async function first(snapshot: Snapshot, table: string): Promise<Row | undefined> {
  if (!(await snapshot.tables()).includes(table)) return undefined;
  const all: Row[] = [];
  for await (const row of snapshot.rows(table)) all.push(row);
  return all[0];
}

async function rowCountOf(snapshot: Snapshot): Promise<number> {
  let count = 0;
  for (const table of await snapshot.tables()) if (table !== VERSION_TABLE) count += await snapshot.count(table);
  return count;
}

async function* recordsOf(snapshot: Snapshot, journal: Buffer | null): AsyncGenerator<SourceRecord> {
  const counts: Record<string, number> = {};
  for (const table of await snapshot.tables()) {
    if (table === VERSION_TABLE) continue;
    let count = 0;
    for await (const row of snapshot.rows(table)) {
      yield { table, row };
      count++;
    }
    counts[table] = count;
  }
  for (let at = 0; journal !== null && at < journal.length; at += JOURNAL_PIECE_BYTES) {
    const piece = journal.subarray(at, at + JOURNAL_PIECE_BYTES);
    // The journal file is preallocated, so most of it is empty.
    if (piece.some((byte) => byte !== 0)) yield { journalAt: at, piece };
  }
  yield { counts, journalBytes: journal?.length ?? 0 };
}
