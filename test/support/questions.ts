import pg from 'pg';
import { Connection } from '../../server/src/kernel/storage/sqlite.ts';

/**
 * What the service asks of its database, statement by statement. Time tells on whoever asks one question more for what exists; on a
 * busy machine a clock does not see that, and this does.
 */
let heard: string[] | null = null;

/** The service's own account of its work, and what it does beside requests. */
const BESIDE = /audit_|rate_windows|job_leases|^(?:begin|commit|rollback)/;

function hear(sql: string): void {
  if (!BESIDE.test(sql)) heard?.push(sql);
}

const { all, run } = Connection.prototype;
Connection.prototype.all = function (sql, parameters) {
  hear(sql);
  return all.call(this, sql, parameters);
};
Connection.prototype.run = function (sql, parameters) {
  hear(sql);
  return run.call(this, sql, parameters);
};
const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  const [first] = args;
  hear(typeof first === 'string' ? first : String((first as { text?: string }).text));
  return query.apply(this, args);
} as never;

/** Runs the work and answers with what was asked meanwhile; one at a time. */
export async function questionsDuring<T>(work: () => Promise<T>): Promise<{ result: T; questions: string[] }> {
  if (heard !== null) throw new Error('somebody listens already');
  const questions: string[] = [];
  heard = questions;
  try {
    return { result: await work(), questions };
  } finally {
    heard = null;
  }
}
