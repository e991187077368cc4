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

/** From this pool size on, `reads` and `service` have one connection more. */
const LARGE_POOL_MIN = 10;
const TRANSACTIONS_MIN = 3;
/** The size of the smallest pool, which is used even if CV_DATABASE_POOL is lower. */
export const CONNECTIONS_MIN = 8;

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
