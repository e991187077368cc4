import pg from 'pg';
import { unavailable } from '../base/errors.ts';
import { FairQueue, SERVICE } from '../fairness/fair-queue.ts';
import type { QueueUse } from '../fairness/queue-use.ts';
import { type ConnectionShares, connectionShares, NO_FREE_CONNECTION } from './connection-shares.ts';
import {
  type Database,
  end,
  type Reader,
  readerOver,
  runInside,
  runTransaction,
  type Tx,
  transactionOver,
  translate,
  type Work,
} from './database.ts';
import { DatabaseServers } from './database-servers.ts';
import type { Execute } from './dialect.ts';
import { isRefusedWrite, isSilence, PipelinedConnection, type ServerChoice } from './pipelined-connection.ts';
import { PipelinedConnections } from './pipelined-connections.ts';
import { classifyPostgresError, isRefusedByServer, RolledBack } from './postgres-errors.ts';
import { nameOf, type PreparedQuery, unawaited } from './prepared-query.ts';
import { RowKeys } from './row-keys.ts';
import { SESSION_NAME } from './schema-version.ts';
import { NotReplicated, ScramClient } from './scram-client.ts';
import { type OwnPart, TenantDatabases } from './tenant-database.ts';

const CONNECT_TIMEOUT_MS = 5000;
/**
 * A page is the next rows of an index. Without statistics the planner expects few rows there, and would collect all that follow in a bitmap and sort
 * them, for each page again.
 */
const READ_SETTINGS = { default_transaction_read_only: 'on', enable_bitmapscan: 'off' };
const STATEMENT_TIMEOUT_MS = 10_000;
/** Longer than the server's own limit, so that it applies only if the server does not respond at all. */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 5000;
const INT8 = 20;
/** Statements in flight on one pipelined connection, in total and for one tenant. Later statements wait. */
const SENT_AHEAD_MAX = 32;
const SENT_AHEAD_PER_TENANT = 16;
const WAITING = {
  waitingPerTenant: 2000,
  waitingMax: 50_000,
  waitMs: 10_000,
  isQuick: true,
  busyCode: NO_FREE_CONNECTION,
};
/** A bulk transaction takes seconds and waits for others of its kind. */
const BULK_WAIT_MS = 30_000;

/**
 * PostgreSQL 15 or later, with READ COMMITTED: code that reads and then writes locks the row it decides on (`for update`), which every
 * PostgreSQL-compatible engine supports.
 */
export class PostgresDatabase implements Database {
  readonly kind = 'postgres';
  readonly isShared = true;
  readonly version = null;
  readonly rowKeys = new RowKeys();
  readonly read: Reader;
  /** Single statements share connections; a transaction has its own. */
  readonly #reads: Record<'request' | 'bulk', PipelinedConnections>;
  readonly #writing: PipelinedConnection;
  #servers: DatabaseServers;
  readonly #newPool: (url: string) => pg.Pool;
  #transactions: TransactionPool | null = null;
  #renewedAt = Number.NEGATIVE_INFINITY;
  #refusal: Error | null = null;
  readonly #slots: Record<Work, FairQueue>;
  readonly #tenants = new TenantDatabases(this, (tenantId, work) => this.#partOf(tenantId, work));

  get queues(): readonly QueueUse[] {
    const { request, bulk } = this.#reads;
    return [request.queue, bulk.queue, ...Object.values(this.#slots)];
  }

  scrubAfterCommit(): void {}

  async sync(): Promise<void> {}

  constructor(url: string, pool: number) {
    this.#servers = new DatabaseServers(url, () => this.#replace());
    const shares = connectionShares(pool);
    const server: ServerChoice = {
      address: () => this.#servers.address(),
      leave: (left) => this.#leave(left),
      onSilence: () => this.#renew(),
    };
    const reads = (of: string, count: number) =>
      new PipelinedConnections({ ...SETTINGS, session: READ_SESSION }, count, readLimits(of, count), server);
    this.#reads = { request: reads('reads', shares.reads), bulk: reads('bulk reads', shares.bulkReads) };
    this.#writing = new PipelinedConnection({ ...SETTINGS, session: SESSION }, server);
    this.#slots = transactionSlots(shares);
    this.#newPool = (address) => transactionPool(address, shares.service + shares.transactions);
    this.read = this.#readerOf(SERVICE, 'request');
  }

  query<P extends object, R>(prepared: PreparedQuery<P, R>, parameters: P): Promise<R[]> {
    return this.#query(SERVICE, 'request', prepared, parameters);
  }

  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#transactionOf(SERVICE, 'authentication', fn);
  }

  forTenant(tenantId: string, work: Work = 'request'): Database {
    return this.#tenants.get(tenantId, work);
  }

  /** Uses another password for the same servers. Statements in flight are answered on the connections they were sent on. */
  connectBy(url: string): void {
    this.#servers = new DatabaseServers(url, () => this.#replace());
    this.#replace();
  }

  /** From now on every statement fails with this error. Returns whether none was refused before. */
  refuse(error: Error): boolean {
    const isFirst = this.#refusal === null;
    this.#refusal ??= error;
    return isFirst;
  }

  #throwRefusal(): void {
    if (this.#refusal !== null) throw this.#refusal;
  }

  #partOf(tenantId: string, work: Work): OwnPart {
    const reads = work === 'bulk' ? 'bulk' : 'request';
    return {
      read: this.#readerOf(tenantId, reads),
      query: (prepared, parameters) => this.#query(tenantId, reads, prepared, parameters),
      transaction: (fn) => this.#transactionOf(tenantId, work, fn),
    };
  }

  #readerOf(tenantId: string, work: 'request' | 'bulk'): Reader {
    const reads = this.#reads[work];
    const queryable: Queryable = {
      query: async (sql, parameters) => {
        this.#throwRefusal();
        return reads.query(tenantId, sql, parameters);
      },
      queryPrepared: async (sql, parameters) => {
        this.#throwRefusal();
        return reads.queryPrepared(tenantId, sql, parameters);
      },
    };
    const { rowKeys } = this;
    return readerOver('postgres', executeOn(queryable, { isRetried: false }), rowKeys);
  }

  async #query<P extends object, R>(
    tenantId: string,
    work: 'request' | 'bulk',
    prepared: PreparedQuery<P, R>,
    parameters: P,
  ): Promise<R[]> {
    this.#throwRefusal();
    const { sql, bind } = prepared.compile('postgres', this.read);
    return (await understood(this.#reads[work].queryPrepared(tenantId, sql, bind(parameters)))).rows as R[];
  }

  #transactionOf<T>(tenantId: string, work: Work, fn: (tx: Tx) => Promise<T>): Promise<T> {
    const inSlot = (kind: Work) => this.#slots[kind].run(tenantId, () => this.#attempt(fn));
    // A bulk transaction takes one of the tenant's ordinary slots too, so that both limits hold.
    const attempt =
      work === 'bulk' ? () => this.#slots.bulk.run(tenantId, () => inSlot('request')) : () => inSlot(work);
    return runTransaction(attempt, classifyPostgresError);
  }

  async #attempt<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    this.#throwRefusal();
    const { client, transactions } = await this.#connected();
    const unreplicated = client.unreplicated;
    let broken: Error | undefined;
    const noteBreak = (error: Error) => {
      broken = error;
      this.#leaveWith(transactions);
    };
    client.on('error', noteBreak);
    let isOpen = true;
    let isCommitSent = false;
    const execute = executeOn(queryableClient(client), { isRetried: true });
    const whileOpen: Execute = async (sql, parameters) => {
      if (!isOpen) throw new Error('the transaction has ended');
      return execute(sql, parameters);
    };
    const tx = transactionOver('postgres', whileOpen, this.rowKeys);
    try {
      // Nobody waits for the answer: the first statement is sent right behind it.
      tx.sent.push(unawaited(client.query('begin')));
      const result = await runInside(tx, fn);
      isOpen = false;
      isCommitSent = true;
      // Sent behind the last statements without waiting for them: if one of them failed, the server rolls back instead.
      const committing = unawaited(client.query('commit'));
      await Promise.all(tx.sent);
      if ((await committing).command !== 'COMMIT') throw new RolledBack();
      if (client.unreplicated !== unreplicated) throw new NotReplicated();
      end(tx, 'committed');
      return result;
    } catch (error) {
      isOpen = false;
      const isUnknown = isCommitSent && !isRefusedByServer(error);
      end(tx, isUnknown ? 'unknown' : 'rolled back');
      // A connection that cannot even roll back is discarded. One that has stopped responding is discarded without a rollback, which would wait for
      // it again.
      if (isSilence(error)) {
        broken = error as Error;
        this.#renew();
      } else await client.query('rollback').catch(noteBreak);
      if (isRefusedWrite(error)) this.#leaveWith(transactions);
      throw isUnknown ? unavailable(OUTCOME_UNKNOWN, error) : error;
    } finally {
      client.off('error', noteBreak);
      client.release(broken);
    }
  }

  /**
   * One connection stopped responding, so the others probably did too, and each would be noticed only by a request that waits for it in vain. All are
   * replaced. Statements that time out soon after were sent before that, and are no reason to replace them again.
   */
  #renew(): void {
    const now = performance.now();
    if (now - this.#renewedAt < ANSWER_TIMEOUT_MS) return;
    this.#renewedAt = now;
    if (this.#transactions !== null) this.#servers.leave(this.#transactions.url);
    this.#replace();
  }

  /** Later statements use new connections. */
  #replace(): void {
    for (const part of [this.#reads.request, this.#reads.bulk, this.#writing]) part.renew();
    const old = this.#transactions;
    this.#transactions = null;
    old?.pool.end().catch(() => {});
  }

  /** If the URL has several servers, another one may accept writes by now. Connections to this one are of no use until that is known. */
  #leave(url: string): void {
    if (this.#servers.leave(url)) this.#replace();
  }

  /** Transactions of a pool that was replaced say nothing about the server that is used now. */
  #leaveWith(transactions: TransactionPool): void {
    if (this.#transactions === transactions) this.#leave(transactions.url);
  }

  async #connected(): Promise<{ client: pg.PoolClient & ScramClient; transactions: TransactionPool }> {
    const url = await this.#servers.address();
    this.#transactions ??= { pool: this.#newPool(url), url };
    const transactions = this.#transactions;
    try {
      return { client: (await transactions.pool.connect()) as pg.PoolClient & ScramClient, transactions };
    } catch (error) {
      this.#leaveWith(transactions);
      throw error;
    }
  }

  /** One write statement, committed by itself, for the group commit of the audit log. */
  async write(sql: string, parameters: readonly unknown[]): Promise<void> {
    this.#throwRefusal();
    await understood(this.#writing.queryPrepared(sql, [...parameters]));
  }

  async ping(): Promise<void> {
    this.#throwRefusal();
    await understood(this.#reads.request.queryPrepared(SERVICE, 'select 1', []));
  }

  async close(): Promise<void> {
    const { request, bulk } = this.#reads;
    await Promise.all([request.close(), bulk.close(), this.#writing.close(), this.#transactions?.pool.end()]);
  }
}

interface TransactionPool {
  readonly pool: pg.Pool;
  readonly url: string;
}

function transactionPool(connectionString: string, max: number): pg.Pool {
  const pool = new pg.Pool({
    ...SETTINGS,
    connectionString,
    pipeline: true,
    Client: ScramClient,
    onConnect: (client: pg.ClientBase) => client.query(SESSION),
    max,
    idleTimeoutMillis: 0,
  } as pg.PoolConfig);
  // A broken idle connection is replaced when one is next needed. Without a listener, its error would end the process.
  pool.on('error', () => {});
  // A connection can also break while it is handed over, when the pool no longer listens and our code does not listen yet.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

function readLimits(of: string, connections: number) {
  return {
    of,
    slots: connections * SENT_AHEAD_MAX,
    perTenant: SENT_AHEAD_PER_TENANT,
    ...WAITING,
  };
}

function transactionSlots(shares: ConnectionShares): Record<Work, FairQueue> {
  const { service, transactions, transactionsPerTenant, bulkTransactions } = shares;
  return {
    authentication: new FairQueue({ of: 'logins', slots: service, perTenant: service - 1, ...WAITING }),
    request: new FairQueue({ of: 'changes', slots: transactions, perTenant: transactionsPerTenant, ...WAITING }),
    bulk: new FairQueue({
      of: 'bulk changes',
      slots: bulkTransactions,
      perTenant: 1,
      ...WAITING,
      waitMs: BULK_WAIT_MS,
      isQuick: false,
    }),
  };
}

const LIMITS = {
  statement_timeout: STATEMENT_TIMEOUT_MS,
  lock_timeout: STATEMENT_TIMEOUT_MS,
  idle_in_transaction_session_timeout: ANSWER_TIMEOUT_MS,
};
const SESSION = sessionStatement(LIMITS);
const READ_SESSION = sessionStatement({ ...LIMITS, ...READ_SETTINGS });

/** What holds for a session is set by a statement, because a pooler such as PgBouncer refuses it as parameters of the connection. */
function sessionStatement(settings: Readonly<Record<string, string | number>>): string {
  const parts = Object.entries(settings).map(([name, value]) => `set_config('${name}', '${value}', false)`);
  return `select ${parts.join(', ')}`;
}

const SETTINGS: pg.ClientConfig = {
  application_name: SESSION_NAME,
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  query_timeout: ANSWER_TIMEOUT_MS,
  keepAlive: true,
  types: {
    // 64-bit integers hold epoch milliseconds and counters, all below 2^53.
    getTypeParser: ((oid: number, format: 'text') =>
      oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as never,
  },
};

type Query = (sql: string, parameters: unknown[]) => Promise<{ rows: unknown[]; rowCount: number | null }>;

interface Queryable {
  query: Query;
  /** Parsed by the server once per connection. */
  queryPrepared: Query;
}

function queryableClient(client: pg.ClientBase): Queryable {
  return {
    query: (sql, parameters) => client.query(sql, parameters),
    queryPrepared: (text, values) => client.query({ name: nameOf(text) ?? '', text, values }),
  };
}

function executeOn(connection: Queryable, { isRetried }: { isRetried: boolean }): Execute {
  return async (sql, parameters) => {
    const way = nameOf(sql) === undefined ? 'query' : 'queryPrepared';
    const { rows, rowCount } = await understood(connection[way](sql, [...parameters]), isRetried);
    return { rows, affected: rowCount ?? 0 };
  };
}

/** Translates driver errors into our own. An error that a transaction may retry is passed on unchanged, so that the transaction recognizes it. */
async function understood<T>(query: Promise<T>, isRetried = false): Promise<T> {
  try {
    return await query;
  } catch (error) {
    const kind = classifyPostgresError(error);
    throw kind === 'retry' && isRetried ? error : translate(error, kind);
  }
}

const OUTCOME_UNKNOWN =
  'The database did not confirm the change, so it may have been made or not: read it before you repeat it, or repeat it with the same Idempotency-Key.';
