import { unavailable } from '../../base/errors.ts';
import {
  type Database,
  end,
  type Reader,
  runInside,
  runTransaction,
  type Tx,
  transactionOver,
  type Work,
} from '../database.ts';
import type { PreparedQuery } from '../prepared-query.ts';
import { RowKeys } from '../row-keys.ts';
import { SqliteReader } from '../sqlite-reader.ts';
import { type OwnPart, TenantDatabases } from '../tenant-database.ts';
import { CommitUnknown, type WriteClient, type WriterTransaction } from './write-client.ts';

/**
 * The SQLite file of another process of the same command. This process reads it itself, over a read-only connection, which sees what is committed.
 * Its transactions run in the other process, statement by statement, so that there is one writer.
 */
export class SharedSqlite implements Database {
  readonly kind = 'sqlite';
  readonly isShared = true;
  readonly rowKeys = new RowKeys();
  readonly queues = [];
  readonly writer: WriteClient;
  readonly #reader: SqliteReader;
  readonly #tenants = new TenantDatabases(this, (tenantId, work) => this.#partOf(tenantId, work));
  /** The transactions under way, in the other process. */
  readonly #remote = new WeakMap<Tx, WriterTransaction>();

  constructor(file: string, writer: WriteClient) {
    this.writer = writer;
    this.#reader = new SqliteReader(file, this.rowKeys);
  }

  /** Changes with each commit of the other process. */
  get version(): number {
    return this.#reader.dataVersion();
  }

  get read(): Reader {
    return this.#reader.read;
  }

  query<P extends object, R>(prepared: PreparedQuery<P, R>, parameters: P): Promise<R[]> {
    return this.#reader.query(prepared, parameters);
  }

  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#transactionOf(null, 'request', fn);
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

  #transactionOf<T>(tenantId: string | null, work: Work, fn: (tx: Tx) => Promise<T>): Promise<T> {
    // Errors of the database arrive as what they mean (messages.ts).
    return runTransaction(
      () => this.#run(this.writer.begin(tenantId, work), fn),
      () => 'other',
    );
  }

  async #run<T>(remote: WriterTransaction, fn: (tx: Tx) => Promise<T>): Promise<T> {
    const tx = transactionOver('sqlite', remote.execute, this.rowKeys);
    this.#remote.set(tx, remote);
    let result: T;
    try {
      result = await runInside(tx, fn);
      await Promise.all(tx.sent);
    } catch (error) {
      remote.rollback();
      end(tx, 'rolled back');
      throw error;
    }
    try {
      await remote.commit();
    } catch (error) {
      const isUnknown = error instanceof CommitUnknown;
      end(tx, isUnknown ? 'unknown' : 'rolled back');
      throw isUnknown ? unavailable(UNKNOWN, error) : error;
    }
    end(tx, 'committed');
    return result;
  }

  /** Calls a function of the writing process inside a transaction. */
  callInside(tx: Tx, name: string, argument: unknown): Promise<unknown> {
    const remote = this.#remote.get(tx);
    if (remote === undefined) throw new Error('the transaction is not one of this database');
    return remote.call(name, argument);
  }

  /** Sent before the statements of the transaction that calls it. */
  scrubAfterCommit(): void {
    this.writer.call('scrubAfterCommit').catch(() => {
      // Only without the writing process, and then nothing is committed either.
    });
  }

  async sync(): Promise<void> {
    await this.writer.call('sync');
  }

  async ping(): Promise<void> {
    await this.#reader.ping();
    await this.writer.call('ping');
  }

  async close(): Promise<void> {
    this.#reader.close();
    await this.writer.close();
  }
}

const UNKNOWN =
  'The service was interrupted while it stored the change, and may have stored it: read it before you try again.';
