import { chmodSync, existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { unavailable } from '../base/errors.ts';
import { Mutex } from '../base/mutex.ts';
import { SERVICE } from '../fairness/fair-queue.ts';
import { nextIteration } from '../fairness/time-slice.ts';
import { CommitMark } from './commit-mark.ts';
import {
  type Database,
  end,
  type Reader,
  runInside,
  runTransaction,
  type Tx,
  transactionOver,
  type Work,
} from './database.ts';
import type { Execute } from './dialect.ts';
import { LogCopying } from './log-copying.ts';
import type { PreparedQuery } from './prepared-query.ts';
import { RowKeys } from './row-keys.ts';
import { Connection } from './sqlite-connection.ts';
import { classifySqliteError, executeOn } from './sqlite-errors.ts';
import { BUSY_TIMEOUT_MS, SET_UP, SqliteReader } from './sqlite-reader.ts';
import { type OwnPart, TenantDatabases } from './tenant-database.ts';
import { type Queued, WriteQueue } from './write-queue.ts';

/** With more, the first of them would wait too long. */
const COMMITTED_TOGETHER_MAX = 32;
/** Fewer pages than for reading: a large transaction writes what exceeds them into the WAL as it goes on, and its commit only the rest. */
const WRITER_CACHE_KIB = 8 * 1024;
/**
 * Deleted content is overwritten in pages that are written anyway. Large values have their own pages and may remain, but the keys that sealed them
 * are deleted first.
 */
const WRITER_SET_UP = `${SET_UP} pragma synchronous = full; pragma secure_delete = fast;
  pragma cache_size = -${WRITER_CACHE_KIB};`;

/**
 * SQLite in the data folder: one writing connection, used by one transaction at a time, and one reading connection, which sees only committed data.
 * FULL synchronization makes a commit survive a kill and a power cut; `unsynced` is the one exception.
 */
export class SqliteDatabase implements Database {
  readonly kind = 'sqlite';
  readonly isShared: boolean;
  readonly file: string;
  readonly rowKeys = new RowKeys();
  readonly #writer: Connection;
  readonly #execute: Execute;
  readonly #run: Run = (sql, parameters) => this.#writer.run(sql, parameters);
  readonly #reader: SqliteReader;
  readonly #writing = new Mutex();
  readonly #mark: CommitMark;
  readonly #logCopying: LogCopying;
  readonly #tenants = new TenantDatabases(this, (tenantId, work) => this.#partOf(tenantId, work));
  readonly #queued = new WriteQueue('changes');
  /** A bulk transaction is committed alone, because short ones in the same commit would have to wait for its end. */
  readonly #queuedBulk = new WriteQueue('bulk changes');
  readonly queues = [this.#queued, this.#queuedBulk];
  #isBulkNext = false;
  #beforeCommit: BeforeCommit = async () => {};
  #version = 0;
  #isTraceToGo = false;
  #level: 'full' | 'normal' | null = null;
  #log: Promise<FileHandle> | null = null;
  #isLogSuspect = false;

  /** Other processes use a database that `isShared` through this one (shared-sqlite/). */
  constructor(file: string, { isShared = false } = {}) {
    this.isShared = isShared;
    this.file = file;
    const isNew = !existsSync(file);
    this.#mark = new CommitMark(file, () => (isNew ? 0 : numberIn(file)));
    this.#writer = new Connection(new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS }));
    if (isNew) chmodSync(file, 0o600);
    this.#execute = executeOn(this.#writer, { isRetried: true });
    this.#writer.database.exec(`pragma journal_mode = wal; ${WRITER_SET_UP}`);
    this.#mark.begin(this.#number(LAST_COMMIT));
    this.#logCopying = new LogCopying(file, this.#writer.database);
    this.#reader = new SqliteReader(file, this.rowKeys);
  }

  #number(sql: string): number {
    return numberFrom(this.#writer.prepare(sql));
  }

  /** The lock on the data folder excludes every other process, and those of this command change nothing themselves, so this process sees every change. */
  get version(): number {
    return this.#version;
  }

  get read(): Reader {
    return this.#reader.read;
  }

  query<P extends object, R>(prepared: PreparedQuery<P, R>, parameters: P): Promise<R[]> {
    return this.#reader.query(prepared, parameters);
  }

  /**
   * Concurrent transactions share a commit, because a commit costs the same for one as for many. They run one after the other, and each can fail by
   * itself; none reports success before all of them are durable.
   */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#transactionOf(SERVICE, 'request', fn);
  }

  /** What is written once for all transactions of a commit. If it fails, none of them is committed. */
  beforeCommit(write: BeforeCommit): void {
    this.#beforeCommit = write;
  }

  forTenant(tenantId: string, work: Work = 'request'): Database {
    return this.#tenants.get(tenantId, work);
  }

  #partOf(tenantId: string, work: Work): OwnPart {
    return {
      read: this.read,
      query: (prepared, parameters) => this.query(prepared, parameters),
      transaction: (fn) => this.#transactionOf(tenantId, work, fn),
    };
  }

  #transactionOf<T>(tenantId: string, work: Work, fn: (tx: Tx) => Promise<T>): Promise<T> {
    return runTransaction(() => this.#enqueue(tenantId, work, fn), classifySqliteError);
  }

  #enqueue<T>(tenantId: string, work: Work, fn: (tx: Tx) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const queue = work === 'bulk' ? this.#queuedBulk : this.#queued;
    const since = performance.now();
    queue.push(tenantId, { fn, resolve: resolve as (result: unknown) => void, reject, since });
    // The commit starts after the transactions that have already arrived are queued.
    if (this.#queued.waiting + this.#queuedBulk.waiting === 1)
      setImmediate(() => this.#writing.run(() => this.#commitQueued()));
    return promise;
  }

  /** Alternates between all short transactions that are queued and one bulk transaction. */
  #nextQueue(): WriteQueue {
    const isBulk = this.#queuedBulk.waiting > 0 && (this.#isBulkNext || this.#queued.waiting === 0);
    this.#isBulkNext = !isBulk;
    return isBulk ? this.#queuedBulk : this.#queued;
  }

  async #commitQueued(): Promise<void> {
    const queue = this.#nextQueue();
    const batch = queue.take(queue === this.#queuedBulk ? 1 : COMMITTED_TOGETHER_MAX);
    if (this.#queued.waiting + this.#queuedBulk.waiting > 0) this.#writing.run(() => this.#commitQueued());
    queue.inUse = 1;
    try {
      if (this.#isLogSuspect) this.#copyLog();
      this.#synchronise('full');
      this.#writer.run('begin immediate', []);
      const changesBefore = this.#number(CHANGES);
      const ended: Ended[] = [];
      for (const one of batch) ended.push(await this.#runInside(one));
      const succeeded = ended.flatMap(({ tx }) => tx ?? []);
      await this.#beforeCommit(this.#transactionOn(this.#execute), this.#run, succeeded);
      // What a bulk transaction records takes a while too.
      if (queue === this.#queuedBulk) await nextIteration();
      const isChanged = this.#number(CHANGES) !== changesBefore;
      if (isChanged) this.#writer.database.exec(`pragma user_version = ${this.#mark.next}`);
      this.#writer.run('commit', []);
      if (isChanged) this.#mark.committed();
      this.#version++;
      if (this.#isTraceToGo) this.#removeTraces();
      for (const { tell } of ended) tell();
      this.#logCopying.afterCommit();
    } catch (error) {
      this.#rollback();
      for (const one of batch) one.reject(error);
    } finally {
      queue.inUse = 0;
    }
  }

  /** Until the traces are removed, pages that become free are overwritten too. Otherwise they would keep the end of a long value. */
  scrubAfterCommit(): void {
    this.#isTraceToGo = true;
    this.#writer.database.exec('pragma secure_delete = on');
  }

  /**
   * Deleted content is overwritten in its pages; this empties the WAL, which still contains it. If a reader blocks it or the disk is full, it is
   * retried after the next commit: the current commit has succeeded and must not be reported as failed.
   */
  #removeTraces(): void {
    try {
      this.#isTraceToGo = !this.#hasCopiedLog();
      if (!this.#isTraceToGo) this.#writer.database.exec('pragma secure_delete = fast');
    } catch {
      this.#isTraceToGo = true;
    }
  }

  /** Copies the whole WAL into the database, syncs both, and truncates the WAL. Returns whether no reader blocked it. */
  #hasCopiedLog(): boolean {
    const row = this.#writer.database.prepare('pragma wal_checkpoint(truncate)').get();
    return Number(row?.['busy']) === 0;
  }

  /**
   * After a failed sync, the operating system may have dropped dirty pages that the next sync will not write. A checkpoint writes their content
   * again, elsewhere.
   */
  #copyLog(): void {
    if (!this.#hasCopiedLog()) throw unavailable('The database is unavailable now: try again shortly.');
    this.#isLogSuspect = false;
  }

  /**
   * Runs one transaction in a savepoint. Its result is reported once everything is committed. If it fails, it is rolled back alone, unless the
   * whole commit has failed with it.
   */
  async #runInside({ fn, resolve, reject }: Queued): Promise<Ended> {
    let isOpen = true;
    const whileOpen: Execute = async (sql, parameters) => {
      if (!isOpen) throw new Error('the transaction has ended');
      return this.#execute(sql, parameters);
    };
    const tx = this.#transactionOn(whileOpen);
    this.#writer.run('savepoint one', []);
    try {
      const result = await runInside(tx, fn);
      isOpen = false;
      await Promise.all(tx.sent);
      this.#writer.run('release one', []);
      return {
        tx,
        tell: () => {
          end(tx, 'committed');
          resolve(result);
        },
      };
    } catch (error) {
      isOpen = false;
      end(tx, 'rolled back');
      if (!this.#writer.database.isTransaction) throw error;
      this.#writer.run('rollback to one', []);
      this.#writer.run('release one', []);
      return { tx: null, tell: () => reject(error) };
    }
  }

  #transactionOn(execute: Execute): Tx {
    return transactionOver('sqlite', execute, this.rowKeys);
  }

  /**
   * One transaction that need not be on disk at once: its data must still exist elsewhere until `sync` has made it durable. It does not change the
   * version: it is for the audit log, on which no cached data depends.
   */
  unsynced(fn: (run: Run) => Promise<void>): Promise<void> {
    return runTransaction(() => this.#writing.run(() => this.#commitUnsynced(fn)), classifySqliteError);
  }

  async #commitUnsynced(fn: (run: Run) => Promise<void>): Promise<void> {
    try {
      this.#synchronise('normal');
      this.#writer.run('begin immediate', []);
      await fn(this.#run);
      this.#writer.run('commit', []);
      this.#logCopying.afterCommit();
    } catch (error) {
      this.#rollback();
      throw error;
    }
  }

  /** Called before each transaction. Resetting the level after a commit could fail, and a commit that succeeded would be reported as failed. */
  #synchronise(level: 'full' | 'normal'): void {
    if (this.#level === level) return;
    this.#level = null;
    this.#writer.database.exec(`pragma synchronous = ${level}`);
    this.#level = level;
  }

  /** Resolves when everything committed so far is on disk. Only the WAL has to be synced: what was checkpointed from it was synced before. */
  async sync(): Promise<void> {
    if (this.#isLogSuspect) return this.#writing.run(async () => this.#copyLog());
    this.#log ??= this.#openLog();
    const log = await this.#log;
    try {
      await log.datasync();
    } catch (error) {
      this.#isLogSuspect = true;
      throw error;
    }
  }

  /** Opened only once, even by concurrent callers: Node ends the process if a file handle is garbage-collected without being closed. */
  async #openLog(): Promise<FileHandle> {
    try {
      return await open(`${this.file}-wal`);
    } catch (error) {
      this.#log = null;
      throw error;
    }
  }

  /** Some failures, such as a full disk, have already rolled back; then there is nothing left to undo. */
  #rollback(): void {
    if (this.#writer.database.isTransaction) this.#writer.run('rollback', []);
  }

  async ping(): Promise<void> {
    await this.#reader.ping();
  }

  async close(): Promise<void> {
    await this.#writing.run(async () => {
      await this.#logCopying.idle();
      await (await this.#log)?.close();
      this.#reader.close();
      this.#mark.remove();
      this.#writer.close();
    });
  }
}

export type Run = (sql: string, parameters: readonly unknown[]) => number;

/** Runs in the commit, after its transactions, with those that succeeded in their order. */
export type BeforeCommit = (tx: Tx, run: Run, succeeded: readonly Tx[]) => Promise<void>;

/** A transaction that waits for its commit; null if it failed and was rolled back. */
interface Ended {
  tx: Tx | null;
  tell(): void;
}

const CHANGES = 'select total_changes()';
const LAST_COMMIT = 'pragma user_version';

function numberFrom(statement: StatementSync): number {
  return Number(Object.values(statement.get() ?? {})[0]);
}

/** Uses a read-only connection, because a writable one would checkpoint and delete the WAL when it is closed. */
function numberIn(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    return numberFrom(database.prepare(LAST_COMMIT));
  } finally {
    database.close();
  }
}
