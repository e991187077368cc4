import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../kernel/config.ts';
import { renameDurably, rootKeyProvider } from '../kernel/crypto/root-key.ts';
import { lockDataFolder, makeDataFolder, StartError } from '../kernel/storage/data-folder.ts';
import { loadMigrations, migrate } from '../kernel/storage/migrate.ts';
import { PostgresDatabase } from '../kernel/storage/postgres.ts';
import { SqliteDatabase } from '../kernel/storage/sqlite.ts';
import { DATABASE_FILE, findInstallation, JOURNAL_FILE } from '../open-kernel.ts';
import { END_RECORD, JOURNAL_RECORD } from './backup.ts';
import { BackupReader } from './backup-format.ts';
import { type Filling, postgresFilling, type Row, sqliteFilling } from './snapshot-store.ts';

const UNFINISHED_SUFFIX = '.restoring';
const TOGETHER = 500;
const BESIDE = ['-wal', '-shm', '-commits'];

/** Brings a backup into an empty folder or database. Until it is all there and checked, there is nothing. */
export async function restore(config: Config, source: string): Promise<string> {
  const reader = new BackupReader(resolve(source));
  try {
    const { header } = reader;
    const kind = config.databaseUrl === null ? 'sqlite' : 'postgres';
    if (header.kind !== kind) {
      throw new StartError(
        `The backup is of ${header.kind}, the settings are for ${kind}: ${kind === 'sqlite' ? 'set' : 'remove'} CV_DATABASE_URL.`,
      );
    }
    const migrations = await loadMigrations();
    if (header.schema > migrations.length) {
      throw new StartError('The backup was made by a newer release: restore it with that one, or a newer one.');
    }
    const provider = rootKeyProvider(config.rootKey);
    const root = provider.load(Buffer.from(header.root_key_salt, 'base64'), false);
    if (root.id !== header.root_key_id) {
      throw new StartError(
        `The root key from ${provider.describes} (${root.id}) does not open this backup, which needs ${header.root_key_id}. Nothing was changed.`,
      );
    }
    const schema = migrations.slice(0, header.schema);
    const records = () => reader.records(root.key);
    const counts =
      config.databaseUrl === null
        ? await intoFolder(config, schema, records)
        : await intoServer(config, config.databaseUrl, schema, records);
    const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return `${rows} rows of ${Object.keys(counts).length} tables are restored, as they were at ${header.made_at}. Start the service.`;
  } finally {
    reader.close();
  }
}

type Records = () => Generator<unknown>;
type Migrations = Awaited<ReturnType<typeof loadMigrations>>;

async function intoFolder(config: Config, schema: Migrations, records: Records): Promise<Record<string, number>> {
  const file = join(config.dataDir, DATABASE_FILE);
  const unfinished = `${file}${UNFINISHED_SUFFIX}`;
  makeDataFolder(config.dataDir);
  const lock = lockDataFolder(config.dataDir);
  try {
    // What lies beside a database that is gone would be taken for a part of the restored one.
    if (['', ...BESIDE].some((suffix) => existsSync(file + suffix))) throw notEmpty(`in ${config.dataDir}`);
    for (const suffix of ['', ...BESIDE]) rmSync(unfinished + suffix, { force: true });
    const database = new SqliteDatabase(unfinished);
    await migrate(database, schema).finally(() => database.close());
    const filling = sqliteFilling(unfinished);
    try {
      const { counts, journal } = await fill(filling, records);
      await filling.commit();
      filling.close();
      writeJournal(join(config.dataDir, JOURNAL_FILE), journal);
      renameDurably(unfinished, file);
      return counts;
    } catch (error) {
      filling.close();
      throw error;
    }
  } finally {
    lock.release();
  }
}

async function intoServer(
  config: Config,
  url: string,
  schema: Migrations,
  records: Records,
): Promise<Record<string, number>> {
  const database = new PostgresDatabase(url, config.databasePool);
  try {
    await migrate(database, schema);
    if ((await findInstallation(database)) !== null) throw notEmpty('there');
  } finally {
    await database.close();
  }
  const filling = await postgresFilling(url);
  try {
    const { counts } = await fill(filling, records);
    await filling.commit();
    return counts;
  } catch (error) {
    await filling.undo();
    throw error;
  } finally {
    await filling.close();
  }
}

function notEmpty(where: string): StartError {
  return new StartError(`There is a Coffer database ${where} already: restore into an empty one. Nothing was changed.`);
}

interface JournalCopy {
  bytes: number;
  pieces: { at: number; piece: Buffer }[];
}

interface End {
  counts: Record<string, number>;
  journal_bytes: number;
}

async function fill(
  filling: Filling,
  records: Records,
): Promise<{ counts: Record<string, number>; journal: JournalCopy }> {
  const counts: Record<string, number> = {};
  const journal: JournalCopy = { bytes: 0, pieces: [] };
  let end: End | null = null;
  let table = '';
  let rows: Row[] = [];
  const flush = async () => {
    await filling.insert(table, rows);
    rows = [];
  };
  for (const record of records()) {
    const [name, value, more] = record as [string, unknown, string];
    if (name !== table || rows.length >= TOGETHER) await flush();
    if (name === END_RECORD) end = value as End;
    else if (name === JOURNAL_RECORD) journal.pieces.push({ at: value as number, piece: Buffer.from(more, 'base64') });
    else {
      table = name;
      rows.push(decoded(value as Row));
      counts[name] = (counts[name] ?? 0) + 1;
    }
  }
  const isWhole = end !== null && Object.entries(end.counts).every(([name, count]) => (counts[name] ?? 0) === count);
  if (end === null || !isWhole)
    throw new StartError('The backup does not hold what it says: use another one. Nothing was changed.');
  journal.bytes = end.journal_bytes;
  return { counts: end.counts, journal };
}

function decoded(row: Row): Row {
  const plain: Row = {};
  for (const [column, value] of Object.entries(row)) {
    const isBytes = typeof value === 'object' && value !== null;
    plain[column] = isBytes ? Buffer.from((value as { $: string }).$, 'base64') : value;
  }
  return plain;
}

/** The first start moves what waits in it into the log, as after any end. */
function writeJournal(file: string, { bytes, pieces }: JournalCopy): void {
  rmSync(file, { force: true });
  if (bytes === 0) return;
  const fd = openSync(file, 'wx', 0o600);
  try {
    ftruncateSync(fd, bytes);
    for (const { at, piece } of pieces) writeSync(fd, piece, 0, piece.length, at);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
