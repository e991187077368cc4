import type { Kysely } from 'kysely';
import postgres from 'postgres';
import { type Database, type FailureKind, runTransaction, type Tx, translate } from './database.ts';
import { type Execute, kyselyOver } from './dialect.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { Tables } from './tables.ts';

type Sql = postgres.Sql<Record<string, never>> | postgres.TransactionSql<Record<string, never>>;

const CONNECT_TIMEOUT_SECONDS = 5;
const STATEMENT_TIMEOUT_MS = 10_000;
/** Longer than the server's own limit, so that this one only speaks when the server does not answer at all. */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 5000;
const BACKOFF_SECONDS_MAX = 1;

/**
 * PostgreSQL 15 or later. READ COMMITTED: a rule that reads and then writes locks the row it decides on
 * (`for update`), which every PostgreSQL-compatible engine honours.
 */
export class PostgresDatabase implements Database {
  readonly kind = 'postgres';
  readonly version = null;
  readonly read: Kysely<Tables>;
  readonly #reading: postgres.Sql<Record<string, never>>;
  readonly #writing: postgres.Sql<Record<string, never>>;

  constructor(url: string, pool: number) {
    const readers = Math.max(1, Math.floor(pool / 2));
    this.#reading = connect(url, readers, { default_transaction_read_only: true });
    this.#writing = connect(url, Math.max(1, pool - readers), {});
    this.read = kyselyOver('postgres', executeOn(this.#reading));
  }

  async query<P extends object, R>(prepared: PreparedQuery<P, R>, parameters: P): Promise<R[]> {
    const { sql, bind } = prepared.compile('postgres', this.read);
    const rows = await answered(this.#reading.unsafe(sql, bind(parameters) as never[], { prepare: true }));
    return rows as unknown as R[];
  }

  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    return runTransaction(async () => {
      let open = true;
      const begun = this.#writing.begin(async (sql) => {
        const execute = executeOn(sql);
        const tx = kyselyOver('postgres', async (text, parameters) => {
          if (!open) throw new Error('the transaction has ended');
          return execute(text, parameters);
        });
        try {
          return await fn(tx as Tx);
        } finally {
          open = false;
        }
      });
      return (await begun) as T;
    }, classifyPostgresError);
  }

  /** One writing statement, committed by itself: what the audit log's group commit needs. */
  write(sql: string, parameters: readonly unknown[]): Promise<unknown> {
    return answered(this.#writing.unsafe(sql, parameters as never[], { prepare: true }));
  }

  async ping(): Promise<void> {
    await answered(this.#reading.unsafe('select 1', [], { prepare: true }));
  }

  async close(): Promise<void> {
    await Promise.all([this.#reading.end({ timeout: 5 }), this.#writing.end({ timeout: 5 })]);
  }
}

function connect(url: string, max: number, settings: Record<string, unknown>): postgres.Sql<Record<string, never>> {
  return postgres(url, {
    max,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    backoff: (attempt) => Math.min(BACKOFF_SECONDS_MAX, 0.05 * 2 ** attempt),
    idle_timeout: 0,
    max_lifetime: null,
    onnotice: () => {},
    connection: {
      application_name: 'coffer',
      statement_timeout: STATEMENT_TIMEOUT_MS,
      lock_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: ANSWER_TIMEOUT_MS,
      ...settings,
    } as never,
    // 64-bit integers hold epoch milliseconds and counters, all below 2^53.
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } } as never,
  });
}

function executeOn(sql: Sql): Execute {
  return async (text, parameters) => {
    const rows = await answered(sql.unsafe(text, parameters as never[], { prepare: true }));
    return { rows: rows as unknown as unknown[], affected: rows.count ?? 0 };
  };
}

/** A query whose server has gone silent would otherwise hold its request, and the caller, for ever. */
async function answered<T>(query: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(Object.assign(new Error('no answer'), { code: 'CONNECT_TIMEOUT' })),
      ANSWER_TIMEOUT_MS,
    );
  });
  try {
    return await Promise.race([query, silence]);
  } catch (error) {
    const kind = classifyPostgresError(error);
    throw kind === 'retry' ? error : translate(error, kind);
  } finally {
    clearTimeout(timer);
  }
}

const RETRY_STATES = new Set(['40001', '40P01']);
const UNAVAILABLE_STATES = /^(08|53|57P|58|25006|57014|55P03)/;
const UNAVAILABLE_CODES = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
]);

export function classifyPostgresError(error: unknown): FailureKind {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') return 'other';
  if (RETRY_STATES.has(code)) return 'retry';
  if (code === '23505') return 'unique';
  if (UNAVAILABLE_CODES.has(code) || UNAVAILABLE_STATES.test(code)) return 'unavailable';
  return 'other';
}
