import { AsyncLocalStorage } from 'node:async_hooks';
import type { Kysely } from 'kysely';
import { CofferError, unavailable } from '../base/errors.ts';
import type { QueueUse } from '../fairness/queue-use.ts';
import { type DatabaseKind, type Execute, kyselyOver } from './dialect.ts';
import type { PreparedQuery } from './prepared-query.ts';
import { RowChanges } from './row-changes.ts';
import type { RowKeys } from './row-keys.ts';
import type { Tables } from './tables.ts';

export type { DatabaseKind } from './dialect.ts';

/** Queries, with the keys that verify whether the service wrote a row. `execute` runs SQL that is built already. */
export type Reader = Kysely<Tables> & { readonly rowKeys: RowKeys; readonly execute: Execute };

/** What became of a transaction. `unknown`: the commit was sent, and the database did not say whether it was made; it may still be made later. */
export type Outcome = 'committed' | 'rolled back' | 'unknown';

declare const inTransaction: unique symbol;
/** A transaction. Stores that change rows require one, so that code without one does not compile. */
export type Tx = Reader & {
  readonly changes: RowChanges;
  /** Called once with what became of the transaction. */
  readonly onEnd: ((outcome: Outcome) => void)[];
  /** Statements that nobody waited for. The transaction is committed only if all of them succeed. */
  readonly sent: Promise<unknown>[];
  readonly [inTransaction]: true;
};

/**
 * The kind of work done for a tenant. `request`: an ordinary request. `bulk`: work that reads or changes many rows, in requests and jobs.
 * `authentication`: identifying the caller, which has its own connections.
 */
export type Work = 'request' | 'bulk' | 'authentication';

export interface Database {
  readonly kind: DatabaseKind;
  /** Whether other processes serve requests from it at the same time. */
  readonly isShared: boolean;
  /**
   * Another number after every commit that changed what may be cached; null if only a query could tell. What was read at a version is current as long as
   * the version is.
   */
  readonly version: number | null;
  /** Configured once the keyring is open. */
  readonly rowKeys: RowKeys;
  /** What statements and transactions wait for in this process. */
  readonly queues: readonly QueueUse[];
  /** Queries outside a transaction. Its connections are read-only: a write through it fails. */
  readonly read: Reader;
  /** A hot-path query, compiled once. */
  query<P extends object, R>(prepared: PreparedQuery<P, R>, parameters: P): Promise<R[]>;
  /**
   * Runs `fn` in one transaction and commits it durably. `fn` may run more than once (busy and serialization failures are retried), so it must only
   * use `tx`: no network call, no other transaction. A change of authenticated rows must be recorded in the audit log inside it, or the transaction
   * fails.
   */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * The same database for one tenant's work, `request` by default. Tenants take turns, and none can hold all connections. Work outside of it counts
   * as the service's own.
   */
  forTenant(tenantId: string, work?: Work): Database;
  /**
   * For a transaction that destroys keys; call it before the deletion. After the commit, the deleted content is also removed from files of this
   * process. A database server has its own log and cleans up by its own rules.
   */
  scrubAfterCommit(): void;
  /** Resolves when everything committed so far survives a power cut. */
  sync(): Promise<void>;
  /** Resolves if the database responds. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** What a driver's failure means to its callers, independent of the database. */
export type FailureKind = 'retry' | 'unique' | 'unavailable' | 'outdated' | 'other';

/** Why a node of an earlier release is refused. */
export const OUTDATED =
  'A newer release has changed the database, and this node is too old for it: send requests to a node of the newer release.';

export class UniqueViolation extends Error {
  override readonly name = 'UniqueViolation';
}

/** Thrown inside a transaction that found out too late that another one changed what it had decided on: it is run again. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

const MAX_ATTEMPTS = 8;
const RETRY_BASE_MS = 5;
const insideTransaction = new AsyncLocalStorage<true>();

/** On SQLite a nested transaction would wait for itself forever; on PostgreSQL it would not see its parent's rows. */
export function refuseInsideTransaction(what: string): void {
  if (insideTransaction.getStore()) throw new Error(`${what} inside a transaction`);
}

export async function runTransaction<T>(
  attempt: () => Promise<T>,
  classify: (error: unknown) => FailureKind,
): Promise<T> {
  refuseInsideTransaction('a transaction');
  for (let n = 1; ; n++) {
    try {
      return await insideTransaction.run(true, attempt);
    } catch (error) {
      if (error instanceof CofferError) throw error;
      const kind = error instanceof Overtaken ? 'retry' : classify(error);
      if (kind === 'retry' && n < MAX_ATTEMPTS) {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * RETRY_BASE_MS * 2 ** n));
        continue;
      }
      throw translate(error, kind);
    }
  }
}

/** A transaction's handle, with what must be checked before its commit. */
export function transactionOver(kind: DatabaseKind, execute: Execute, rowKeys: RowKeys): Tx {
  const parts = { changes: new RowChanges(), onEnd: [], sent: [] };
  return Object.assign(readerOver(kind, execute, rowKeys), parts) as unknown as Tx;
}

export function readerOver(kind: DatabaseKind, execute: Execute, rowKeys: RowKeys): Reader {
  return Object.assign(kyselyOver(kind, execute), { rowKeys, execute });
}

export async function runInside<T>(tx: Tx, fn: (tx: Tx) => Promise<T>): Promise<T> {
  try {
    const result = await fn(tx);
    tx.changes.requireRecorded();
    return result;
  } catch (error) {
    // PostgreSQL refuses every statement after one that failed, so the first failure is the reason.
    const failed = (await Promise.allSettled(tx.sent)).find(({ status }) => status === 'rejected');
    throw failed?.status === 'rejected' ? failed.reason : error;
  }
}

export function end(tx: Tx, outcome: Outcome): void {
  for (const listener of tx.onEnd) listener(outcome);
}

export function translate(error: unknown, kind: FailureKind): unknown {
  if (kind === 'outdated') return unavailable(OUTDATED, error);
  if (kind === 'unique') return new UniqueViolation('a row with this key already exists', { cause: error });
  if (kind === 'unavailable' || kind === 'retry')
    return unavailable('The database is unavailable now: try again shortly.', error);
  return error;
}
