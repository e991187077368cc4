import type { QueueUse } from '../fairness/queue-use.ts';
import type { Trace } from '../observability/trace.ts';
import { type Database, type DatabaseKind, type Reader, readerOver, type Tx, type Work } from './database.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { RowKeys } from './row-keys.ts';

/** The database as one request uses it that is traced: each statement and each transaction, with its wait for a connection, is a span. */
export class TracedDatabase implements Database {
  readonly read: Reader;
  readonly #database: Database;
  readonly #trace: Trace;

  constructor(database: Database, trace: Trace) {
    this.#database = database;
    this.#trace = trace;
    const { execute } = database.read;
    const traced = (sql: string, parameters: readonly unknown[]) =>
      this.#measured('query', () => execute(sql, parameters));
    this.read = readerOver(database.kind, traced, database.rowKeys);
  }

  async #measured<T>(operation: string, act: () => Promise<T>): Promise<T> {
    // The statement itself is left out, because its parameters may be part of it.
    const end = this.#trace.child(
      'database',
      { 'db.system.name': this.kind, 'db.operation.name': operation },
      'client',
    );
    try {
      const result = await act();
      end();
      return result;
    } catch (error) {
      end(true);
      throw error;
    }
  }

  get kind(): DatabaseKind {
    return this.#database.kind;
  }

  get isShared(): boolean {
    return this.#database.isShared;
  }

  get version(): number | null {
    return this.#database.version;
  }

  get rowKeys(): RowKeys {
    return this.#database.rowKeys;
  }

  get queues(): readonly QueueUse[] {
    return this.#database.queues;
  }

  query<P extends object, R>(prepared: PreparedQuery<P, R>, parameters: P): Promise<R[]> {
    return this.#measured('query', () => this.#database.query(prepared, parameters));
  }

  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#measured('transaction', () => this.#database.transaction(fn));
  }

  forTenant(tenantId: string, work?: Work): Database {
    return new TracedDatabase(this.#database.forTenant(tenantId, work), this.#trace);
  }

  scrubAfterCommit(): void {
    this.#database.scrubAfterCommit();
  }

  sync(): Promise<void> {
    return this.#database.sync();
  }

  ping(): Promise<void> {
    return this.#database.ping();
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
