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

/** Below this pool size, each kind of read has one connection, and the service's own work has one less. */
const ROOMY = 10;
const TRANSACTIONS_MIN = 3;
/** The minimum that is opened, whatever CV_DATABASE_POOL says. */
export const CONNECTIONS_MIN = 8;

export function sharesOf(pool: number): ConnectionShares {
  const isRoomy = pool >= ROOMY;
  const audit = 1;
  const reads = isRoomy ? 2 : 1;
  const bulkReads = 1;
  const service = isRoomy ? 3 : 2;
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
