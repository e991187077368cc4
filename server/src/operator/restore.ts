import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sql } from 'kysely';
import { timestamp } from '../kernel/clock.ts';
import type { Config } from '../kernel/config.ts';
import { renameDurably, rootKeyProvider } from '../kernel/crypto/root-key.ts';
import { lockDataFolder, makeDataFolder, StartError } from '../kernel/storage/data-folder.ts';
import type { Database } from '../kernel/storage/database.ts';
import { loadMigrations, migrate } from '../kernel/storage/migrate.ts';
import { PostgresDatabase } from '../kernel/storage/postgres.ts';
import { SqliteDatabase } from '../kernel/storage/sqlite.ts';
import { DATABASE_FILE, findInstallation, type Installation, JOURNAL_FILE, RESTORING } from '../open-kernel.ts';
import { END_RECORD, JOURNAL_RECORD } from './backup.ts';
import { BackupReader } from './backup-format.ts';
import { finishRestore, type Restored } from './finish-restore.ts';
import { type Filling, postgresFilling, type Row, sqliteFilling } from './snapshot-store.ts';

const UNFINISHED_SUFFIX = '.restoring';
const TOGETHER = 500;
const BESIDE = ['-wal', '-shm', '-commits'];

/** Brings a backup into an empty folder or database. Until it is all there, checked and recorded in the log, nothing starts on it. */
export async function restore(config: Config, file: string, options: { revokeTokens?: boolean } = {}): Promise<string> {
  const reader = new BackupReader(resolve(file));
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
    const source: Source = {
      schema: migrations.slice(0, header.schema),
      mark: `${RESTORING} ${header.made_at}`,
      records: () => reader.records(root.key),
      finish: async (database) => {
        await migrate(database, migrations);
        const from = { madeAt: header.made_at, rootKeyId: root.id, isRevokingTokens: options.revokeTokens === true };
        return finishRestore(config, database, from);
      },
    };
    const restored =
      config.databaseUrl === null
        ? await intoFolder(config, source)
        : await intoServer(config, config.databaseUrl, source);
    return restoredText(restored, header.made_at, options.revokeTokens === true);
  } finally {
    reader.close();
  }
}

/** A backup, and what is done once its rows are in. */
interface Source {
  schema: Awaited<ReturnType<typeof loadMigrations>>;
  /** In place of the root key's id, until it is finished. */
  mark: string;
  records(): Generator<unknown>;
  finish(database: Database): Promise<Restored>;
}

async function intoFolder(config: Config, source: Source): Promise<Restored> {
  const file = join(config.dataDir, DATABASE_FILE);
  const unfinished = `${file}${UNFINISHED_SUFFIX}`;
  makeDataFolder(config.dataDir);
  const lock = lockDataFolder(config.dataDir);
  try {
    // What lies beside a database that is gone would be taken for a part of the restored one.
    if (['', ...BESIDE].some((suffix) => existsSync(file + suffix))) throw notEmpty(`in ${config.dataDir}`);
    for (const suffix of ['', ...BESIDE]) rmSync(unfinished + suffix, { force: true });
    const database = new SqliteDatabase(unfinished);
    await migrate(database, source.schema).finally(() => database.close());
    const filling = sqliteFilling(unfinished);
    try {
      writeJournal(join(config.dataDir, JOURNAL_FILE), await fill(filling, source));
      await filling.commit();
    } finally {
      filling.close();
    }
    const filled = new SqliteDatabase(unfinished);
    const restored = await source.finish(filled).finally(() => filled.close());
    renameDurably(unfinished, file);
    return restored;
  } finally {
    lock.release();
  }
}

/** What an interrupted restore of the same backup has brought in already is finished, and nothing else is taken for empty. */
async function intoServer(config: Config, url: string, source: Source): Promise<Restored> {
  const database = new PostgresDatabase(url, config.databasePool);
  try {
    const found = await installationThere(database);
    if (found !== null && found.rootKeyId !== source.mark) throw notEmpty('there');
    if (found === null) {
      await migrate(database, source.schema);
      await fillServer(url, source);
    }
    return await source.finish(database);
  } finally {
    await database.close();
  }
}

async function installationThere(database: Database): Promise<Installation | null> {
  const tables = sql`select 1 from pg_tables where schemaname = current_schema() and tablename = 'installation'`;
  const { rows } = await tables.execute(database.read);
  return rows.length === 0 ? null : findInstallation(database);
}

async function fillServer(url: string, source: Source): Promise<void> {
  const filling = await postgresFilling(url);
  try {
    await fill(filling, source);
    await filling.commit();
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

const TOKENS_LISTED_MAX = 100;

/** What was changed since the backup is as it was: whoever runs the service has to know what that brings back. */
function restoredText({ good, revoked, unrecorded }: Restored, madeAt: string, isRevoking: boolean): string {
  const lines = [
    `Everything is restored as it was at ${madeAt}. Whatever was changed since is undone: people, rights, passwords and tokens that were removed or revoked are back. Look through them, then start the service.`,
  ];
  if (isRevoking) {
    lines.push(
      `${revoked} tokens and sessions from before the backup are revoked: run "coffer server new-admin-token" for a new one.`,
    );
  } else if (good.length > 0) {
    lines.push(
      `These ${good.length} tokens and sessions are good now, also if they were revoked after the backup. Revoke what should not be, or restore again with --revoke-tokens, which ends them all:`,
      ...good
        .slice(0, TOKENS_LISTED_MAX)
        .map(
          (token) =>
            `  ${token.tokenId} ${token.kind} ${JSON.stringify(token.name)} of ${token.holder} in ${token.tenantId}, until ${timestamp(token.expiresAt)}`,
        ),
    );
    if (good.length > TOKENS_LISTED_MAX) lines.push(`  and ${good.length - TOKENS_LISTED_MAX} more`);
  }
  for (const tenantId of unrecorded)
    lines.push(`Nothing could be recorded in the log of ${tenantId}: its keys do not open.`);
  return lines.join('\n');
}

interface JournalCopy {
  bytes: number;
  pieces: { at: number; piece: Buffer }[];
}

interface End {
  counts: Record<string, number>;
  journal_bytes: number;
}

async function fill(filling: Filling, source: Source): Promise<JournalCopy> {
  const counts: Record<string, number> = {};
  const journal: JournalCopy = { bytes: 0, pieces: [] };
  let end: End | null = null;
  let table = '';
  let rows: Row[] = [];
  const flush = async () => {
    await filling.insert(table, rows);
    rows = [];
  };
  for (const record of source.records()) {
    const [name, value, more] = record as [string, unknown, string];
    if (name !== table || rows.length >= TOGETHER) await flush();
    if (name === END_RECORD) end = value as End;
    else if (name === JOURNAL_RECORD) journal.pieces.push({ at: value as number, piece: Buffer.from(more, 'base64') });
    else {
      table = name;
      const row = decoded(value as Row);
      rows.push(name === 'installation' ? { ...row, root_key_id: source.mark } : row);
      counts[name] = (counts[name] ?? 0) + 1;
    }
  }
  const isWhole = end !== null && Object.entries(end.counts).every(([name, count]) => (counts[name] ?? 0) === count);
  if (end === null || !isWhole)
    throw new StartError('The backup does not hold what it says: use another one. Nothing was changed.');
  journal.bytes = end.journal_bytes;
  return journal;
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
