/** How the PostgreSQL connections of one process are divided. */
export interface ConnectionShares {
  /** Writes of the audit log outside of other transactions. */
  audit: number;
  /** Pipelined reads of requests. */
  reads: number;
  /** Pipelined reads of exports, searches and checks, so that they never delay the read of a secret. */
  bulkReads: number;
  /** Transactions of logins, proofs, the audit log and leases. */
  service: number;
  /** Transactions of requests. */
  transactions: number;
  /** The part of `transactions` that one tenant can use. */
  transactionsPerTenant: number;
  /** The part of `transactions` for imports and jobs, whose transactions are long. */
  bulkTransactions: number;
}

/** The code of the error of a statement or transaction that waited too long for a connection of this process. */
export const NO_FREE_CONNECTION = 'NO_FREE_CONNECTION';

/** From this pool size on, `reads` and `service` have one connection more. */
const LARGE_POOL_MIN = 10;
const TRANSACTIONS_MIN = 3;
/** The size of the smallest pool, which is used even if CV_DATABASE_POOL is lower. */
export const CONNECTIONS_MIN = 8;

/** The size of the largest pool that is used unless another one is set. */
const DEFAULT_MAX = 24;

/**
 * The pool of each worker where CV_DATABASE_POOL is not set. A machine with more processors keeps more transactions busy; workers share that. It
 * assumes that the server of the database is no smaller than this machine.
 */
export function defaultPool(processors: number, workers: number): number {
  return Math.min(DEFAULT_MAX, CONNECTIONS_MIN + Math.ceil((2 * processors) / workers));
}

export function connectionShares(pool: number): ConnectionShares {
  const isLargePool = pool >= LARGE_POOL_MIN;
  const audit = 1;
  const reads = isLargePool ? 2 : 1;
  const bulkReads = 1;
  const service = isLargePool ? 3 : 2;
  const transactions = Math.max(TRANSACTIONS_MIN, pool - audit - reads - bulkReads - service);
  return {
    audit,
    reads,
    bulkReads,
    service,
    transactions,
    transactionsPerTenant: Math.ceil(transactions / 2),
    bulkTransactions: Math.floor(transactions / 2),
  };
}
