import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { lockDataFolder, makeDataFolder, StartError } from '../kernel/base/data-folder.ts';
import { renameDurably } from '../kernel/crypto/root-key.ts';
import type { Database } from '../kernel/storage/database.ts';
import { listMigrations, migrate } from '../kernel/storage/migrate.ts';
import { PostgresDatabase } from '../kernel/storage/postgres.ts';
import { FENCED_SINCE } from '../kernel/storage/recording-fence.ts';
import { SqliteDatabase } from '../kernel/storage/sqlite.ts';
import type { Config } from '../settings/config.ts';
import { installationThere } from '../start/installation.ts';
import { JOURNAL_FILE } from '../start/open-audit.ts';
import { DATABASE_FILE } from '../start/open-storage.ts';
import type { Restored } from './finish-restore.ts';
import { JournalCopy } from './journal-copy.ts';
import { NOT_SHOWN, type Progress } from './progress.ts';
import { bytesOf, type Filling, postgresFilling, type Row, sqliteFilling } from './snapshot-store.ts';

const UNFINISHED_SUFFIX = '.restoring';
const BESIDE = ['-wal', '-shm', '-commits'];
/** Rows inserted in one batch, and their bytes: a version of a secret can be larger than 1 MiB. */
const BATCH_ROWS = 500;
const BATCH_BYTES = 4 * 1024 * 1024;

/** A part of an installation, independent of the database it comes from. */
export type SourceRecord = { table: string; row: Row } | { journalAt: number; piece: Buffer } | LastRecord;

export interface LastRecord {
  counts: Readonly<Record<string, number>>;
  journalBytes: number;
}

/** What is imported, and what is done once its rows are inserted. */
export interface Source {
  /** The number of migrations of its schema. */
  schema: number;
  /** Stored in place of the root key's id until the import is finished: no node starts on it, and only the same source can continue it. */
  mark: string;
  /** Whether the records are read to their end before anything is written, so that a source that is refused leaves nothing behind. */
  isCheckedFirst: boolean;
  progress?: Progress;
  /** The last record holds the counts. */
  records(): AsyncIterable<SourceRecord> | Iterable<SourceRecord>;
  finish(database: Database, journal: JournalCopy): Promise<Restored>;
}

/** Fills an empty folder or database. No node starts on it before it is complete, verified and recorded in the audit log. */
export async function fillDatabase(config: Config, source: Source): Promise<Restored> {
  return config.databaseUrl === null ? intoFolder(config, source) : intoServer(config, config.databaseUrl, source);
}

async function intoFolder(config: Config, source: Source): Promise<Restored> {
  const file = join(config.dataDir, DATABASE_FILE);
  const unfinished = `${file}${UNFINISHED_SUFFIX}`;
  const removeUnfinished = () => {
    for (const suffix of ['', ...BESIDE]) rmSync(unfinished + suffix, { force: true });
  };
  refuseUsedFolder(config.dataDir);
  const total = source.isCheckedFirst ? await requireWhole(source) : null;
  makeDataFolder(config.dataDir);
  const lock = lockDataFolder(config.dataDir);
  let isJournalWritten = false;
  try {
    // Another restore may have finished meanwhile.
    refuseUsedFolder(config.dataDir);
    removeUnfinished();
    const database = new SqliteDatabase(unfinished);
    await migrateTo(database, source.schema).finally(() => database.close());
    const filling = sqliteFilling(unfinished);
    let journal: JournalCopy;
    try {
      journal = await fill(filling, source, total);
      isJournalWritten = true;
      journal.writeTo(join(config.dataDir, JOURNAL_FILE));
      await filling.commit();
    } finally {
      filling.close();
    }
    const filled = new SqliteDatabase(unfinished);
    const restored = await source.finish(filled, journal).finally(() => filled.close());
    renameDurably(unfinished, file);
    return restored;
  } catch (error) {
    // A start would refuse a journal without its database. Once that is in place it needs the journal, whatever failed after.
    if (isJournalWritten && !existsSync(file)) rmSync(join(config.dataDir, JOURNAL_FILE), { force: true });
    throw error;
  } finally {
    removeUnfinished();
    lock.release();
  }
}

/** Files left beside a deleted database would pass for parts of the restored one. */
function refuseUsedFolder(dataDir: string): void {
  const file = join(dataDir, DATABASE_FILE);
  if (['', ...BESIDE].some((suffix) => existsSync(file + suffix))) throw notEmpty(`in ${dataDir}`);
}

/** Continues an interrupted run with the same source; any other database that is not empty is refused. */
async function intoServer(config: Config, url: string, source: Source): Promise<Restored> {
  const database = new PostgresDatabase(url, config.databasePool);
  try {
    const found = await installationThere(database);
    if (found !== null && found.rootKeyId !== source.mark) throw notEmpty('there');
    const total = found === null && source.isCheckedFirst ? await requireWhole(source) : null;
    makeDataFolder(config.dataDir);
    if (found === null) await migrateTo(database, source.schema);
    const journal = found === null ? await fillServer(url, source, total) : await journalOf(source);
    return await source.finish(database, journal);
  } finally {
    await database.close();
  }
}

async function migrateTo(database: Database, schema: number): Promise<void> {
  await migrate(
    database,
    listMigrations().filter(({ version }) => version <= schema),
  );
}

async function fillServer(url: string, source: Source, total: number | null): Promise<JournalCopy> {
  const filling = await postgresFilling(url);
  try {
    const journal = await fill(filling, source, total);
    await filling.commit();
    return journal;
  } catch (error) {
    await filling.undo();
    throw error;
  } finally {
    await filling.close();
  }
}

function notEmpty(where: string): StartError {
  return new StartError(`A Coffer database already exists ${where}: use an empty one. Nothing was changed.`);
}

/** Reads every record, which authenticates it, and counts the rows. */
async function requireWhole(source: Source): Promise<number> {
  const { progress = NOT_SHOWN } = source;
  let done = 0;
  progress.begin({ title: 'Checking', unit: 'rows', total: null });
  const found = new Map<string, number>();
  let expected: Readonly<Record<string, number>> | null = null;
  for await (const record of source.records()) {
    if ('table' in record) {
      found.set(record.table, (found.get(record.table) ?? 0) + 1);
      progress.reach(++done);
    } else if ('counts' in record) expected = record.counts;
  }
  const tables = new Set([...found.keys(), ...Object.keys(expected ?? {})]);
  if (expected === null || [...tables].some((table) => (found.get(table) ?? 0) !== (expected?.[table] ?? 0)))
    throw notWhole();
  return done;
}

/** Inserts every row, then compares the row count of each table. `total` is how many there are, if they were read before. */
async function fill(filling: Filling, source: Source, total: number | null): Promise<JournalCopy> {
  const { progress = NOT_SHOWN } = source;
  progress.begin({ title: 'Writing', unit: 'rows', total });
  const journal = new JournalCopy();
  const inserted = new Set<string>();
  let expected: Readonly<Record<string, number>> | null = null;
  let table = '';
  let rows: Row[] = [];
  let bytes = 0;
  let done = 0;
  const flush = async () => {
    await filling.insert(table, rows);
    [rows, bytes] = [[], 0];
  };
  for await (const record of source.records()) {
    const isSameTable = 'table' in record && record.table === table;
    if (!isSameTable || rows.length >= BATCH_ROWS || bytes >= BATCH_BYTES) await flush();
    if ('counts' in record) expected = record.counts;
    if ('table' in record) {
      table = record.table;
      inserted.add(table);
      rows.push(filledRow(table, record.row, source));
      progress.reach(++done);
      bytes += bytesOf(record.row);
    } else journal.take(record);
  }
  if (expected === null || inserted.difference(new Set(Object.keys(expected))).size > 0) throw notWhole();
  for (const [name, count] of Object.entries(expected)) if ((await filling.count(name)) !== count) throw notWhole();
  return journal;
}

function filledRow(table: string, row: Row, { mark, schema }: Source): Row {
  if (table === 'installation') return { ...row, root_key_id: mark };
  // An entry that an earlier release recorded and nobody has linked yet: here its schema is as old as the database.
  if (table === 'audit_segments' && row['first_seq'] === null && schema >= FENCED_SINCE)
    return { ...row, schema_version: schema };
  return row;
}

async function journalOf(source: Source): Promise<JournalCopy> {
  const journal = new JournalCopy();
  for await (const record of source.records()) if (!('table' in record)) journal.take(record);
  return journal;
}

function notWhole(): StartError {
  return new StartError('The imported row counts do not match the backup: use another backup. Nothing was changed.');
}
