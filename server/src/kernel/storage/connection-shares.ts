/** What the connections of one process to PostgreSQL are for. */
export interface ConnectionShares {
  /** Writes of the audit log that stand alone. */
  audit: number;
  /** Pipelined reads of requests. */
  reads: number;
  /** Pipelined reads of exports, searches and checks: they never stand before a secret that somebody reads. */
  bulkReads: number;
  /** Transactions of logins, proofs, the audit log and leases. */
  service: number;
  /** Transactions of requests. */
  transactions: number;
  /** Of these, for one tenant. */
  transactionsPerTenant: number;
  /** Of these, for imports and jobs, whose transactions are long. */
  bulkTransactions: number;
}

/** Below this there is one connection for each kind of read, and one less for the service's own work. */
const ROOMY = 10;
const TRANSACTIONS_MIN = 3;
/** So many are opened at least, whatever CV_DATABASE_POOL says. */
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
