import pg from 'pg';
import { Connection } from '../../server/src/kernel/storage/sqlite-connection.ts';

/**
 * What the service asks of its database, statement by statement. A query more for what exists takes time that a caller could measure; on
 * a busy machine a clock in a test does not see it, and this does.
 */
interface Heard {
  readonly queries: string[];
  /** How many rows the database gave back. */
  rows: number;
}

let heard: Heard | null = null;

/** The service's own account of its work, and what it does beside requests. */
const BESIDE = /audit_|rate_windows|job_leases|nodes|schema_version|^(?:begin|commit|rollback|select set_config)/;

/** Every statement with its parameters, while somebody records them. */
export interface Statement {
  sql: string;
  parameters: unknown[];
}
let recorded: Statement[] | null = null;

/** Who listens to this statement, if anybody does. */
function listenerFor(sql: string, parameters: readonly unknown[]): Heard | null {
  recorded?.push({ sql, parameters: [...parameters] });
  if (BESIDE.test(sql)) return null;
  heard?.queries.push(sql);
  return heard;
}

const { all, run } = Connection.prototype;
Connection.prototype.all = function (sql, parameters) {
  const listener = listenerFor(sql, parameters);
  const rows = all.call(this, sql, parameters);
  if (listener !== null) listener.rows += rows.length;
  return rows;
};
Connection.prototype.run = function (sql, parameters) {
  listenerFor(sql, parameters);
  return run.call(this, sql, parameters);
};
const query = pg.Client.prototype.query as (...args: unknown[]) => Promise<pg.QueryResult>;
pg.Client.prototype.query = async function (this: pg.Client, ...args: unknown[]) {
  const [first, second] = args;
  const { text, values } = typeof first === 'string' ? { text: first, values: second } : (first as pg.QueryConfig);
  const listener = listenerFor(text, (values as unknown[] | undefined) ?? []);
  const result = await query.apply(this, args);
  if (listener !== null) listener.rows += result.rows.length;
  return result;
} as never;

/** Runs the work and answers with every statement of the process meanwhile, also of background work. */
export async function statementsDuring(work: () => Promise<unknown>): Promise<Statement[]> {
  const own: Statement[] = [];
  recorded = own;
  try {
    await work();
  } finally {
    recorded = null;
  }
  return own;
}

/** Runs the work and returns the queries that were sent meanwhile; one at a time. */
export async function queriesDuring<T>(work: () => Promise<T>): Promise<Heard & { result: T }> {
  if (heard !== null) throw new Error('somebody listens already');
  const listener: Heard = { queries: [], rows: 0 };
  heard = listener;
  try {
    return { result: await work(), ...listener };
  } finally {
    heard = null;
  }
}
