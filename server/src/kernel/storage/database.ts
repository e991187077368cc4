import { AsyncLocalStorage } from 'node:async_hooks';
import type { Kysely } from 'kysely';
import { CofferError, unavailable } from '../errors.ts';
import { RowChanges } from '../integrity/row-changes.ts';
import type { RowKeys } from '../integrity/row-keys.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { Tables } from './tables.ts';

/** Queries, with the keys that tell whether a row is one that the service wrote. */
export type Reader = Kysely<Tables> & { readonly rowKeys: RowKeys };

declare const inTransaction: unique symbol;
/** A transaction. Stores that change rows demand one, so that forgetting it does not compile. */
export type Tx = Reader & {
  readonly changes: RowChanges;
  /** Called if the transaction turns out not to be committed, or if nobody knows. */
  readonly whenUndone: (() => void)[];
  readonly [inTransaction]: true;
};

export type DatabaseKind = 'sqlite' | 'postgres';

/**
 * What is done for a tenant. `request`: what an ordinary request needs. `bulk`: what reads or changes much, in requests and jobs. `authentication`: what
 * finds out who somebody is, which has connections of its own.
 */
export type Work = 'request' | 'bulk' | 'authentication';

export interface Database {
  readonly kind: DatabaseKind;
  /**
   * Grows with every change this process commits, where no other process can change anything; null where one can. What was read at
   * a version is still true while the version stands.
   */
  readonly version: number | null;
  /** Set up once the keyring is open. */
  readonly rowKeys: RowKeys;
  /** Queries outside a transaction. Its connections are read-only: a write through it fails. */
  readonly read: Reader;
  /** A hot-path query, compiled once. */
  query<P extends object, R>(prepared: PreparedQuery<P, R>, parameters: P): Promise<R[]>;
  /**
   * Runs `fn` in one transaction and commits it durably. `fn` may run more than once (busy and serialisation failures are
   * retried), so it must do nothing but use `tx`: no network call, no other transaction. A change of rows that are authenticated has to be
   * recorded in the audit log inside it: without that it fails.
   */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * The same database for a tenant's work, ordinary requests unless told: tenants take turns, and none can hold all connections. What is done without
   * it is the service's own.
   */
  forTenant(tenantId: string, work?: Work): Database;
  /**
   * For a transaction that destroys keys, best before it does: once it is committed, what it deleted is not left behind in files of this process' own
   * either. A server keeps its own log and cleans up by its own rules.
   */
  scrubAfterCommit(): void;
  /** Resolves when everything that is committed by now survives a power cut. */
  sync(): Promise<void>;
  /** Resolves if the database answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** What a driver's failure means to the rules above it, whichever database it came from. */
export type FailureKind = 'retry' | 'unique' | 'unavailable' | 'other';

export class UniqueViolation extends Error {
  override readonly name = 'UniqueViolation';
}

const MAX_ATTEMPTS = 8;
const RETRY_BASE_MS = 5;
const insideTransaction = new AsyncLocalStorage<true>();

/** On SQLite a nested transaction would wait for itself for ever, on PostgreSQL it would not see its parent's rows. */
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
      const kind = classify(error);
      if (kind === 'retry' && n < MAX_ATTEMPTS) {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * RETRY_BASE_MS * 2 ** n));
        continue;
      }
      throw translate(error, kind);
    }
  }
}

/** A transaction's own handle, and what has to hold before its commit. */
export function transactionOver(db: Kysely<Tables>, rowKeys: RowKeys): Tx {
  return Object.assign(db, { rowKeys, changes: new RowChanges(), whenUndone: [] }) as unknown as Tx;
}

export async function runInside<T>(tx: Tx, fn: (tx: Tx) => Promise<T>): Promise<T> {
  const result = await fn(tx);
  tx.changes.requireRecorded();
  return result;
}

export function translate(error: unknown, kind: FailureKind): unknown {
  if (kind === 'unique') return new UniqueViolation('a row with this key exists', { cause: error });
  if (kind === 'unavailable' || kind === 'retry') return unavailable('The store cannot be used now.', error);
  return error;
}
