import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import type { Database } from '../../server/src/kernel/storage/database.ts';
import { query } from './postgres.ts';
import type { Answer, Service } from './service.ts';
import { until } from './until.ts';

const WAITING_MAX_MS = 60_000;
const REQUEST_BEGINS = 'http.server.request.start';

/** A row that the change needs, and what overtakes it does not. */
export interface NeededRow {
  table: string;
  where: Record<string, string | number | Uint8Array>;
}

/**
 * Answers what a change is answered whose caller was let in, and had to wait while `overtake` was done and answered. On PostgreSQL it waits for a
 * row that somebody else holds; on SQLite for its turn behind what overtakes it.
 */
export async function overtaken(
  service: Service,
  databaseUrl: string | undefined,
  { needed, change, overtake }: { needed: NeededRow; change(): Promise<Answer>; overtake(): Promise<Answer> },
): Promise<Answer> {
  return databaseUrl === undefined
    ? inTurn(service, change, overtake)
    : holdingRow(databaseUrl, needed, change, overtake);
}

async function inTurn(service: Service, change: () => Promise<Answer>, overtake: () => Promise<Answer>) {
  const { database } = service.app.kernel;
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const holding = database.transaction(() => held);
  try {
    const overtaking = await queued(database, overtake);
    const changing = await queued(database, change);
    release();
    await holding;
    assertDone(await overtaking());
    return await changing();
  } finally {
    release();
  }
}

/** Sends a request, and goes on when it waits for its transaction. Those that the jobs of the service ask for meanwhile do not count. */
async function queued(database: Database, send: () => Promise<Answer>): Promise<() => Promise<Answer>> {
  const { promise: isQueued, resolve: tell } = Promise.withResolvers<boolean>();
  const inRequest = new AsyncLocalStorage<true>();
  const enter = () => inRequest.enterWith(true);
  subscribe(REQUEST_BEGINS, enter);
  const telling = <D extends Pick<Database, 'transaction'>>(one: D): D => {
    const transaction = one.transaction.bind(one);
    one.transaction = (fn) => {
      if (inRequest.getStore() === true) tell(true);
      return transaction(fn);
    };
    return one;
  };
  // Requests use the database as their tenant's work does; logins and the service itself as it is.
  const { transaction, forTenant } = database;
  telling(database);
  database.forTenant = (...of) => telling(forTenant.call(database, ...of));
  const sent = send();
  const waiting = new AbortController();
  const wasQueued = await Promise.race([isQueued, pause(WAITING_MAX_MS, false, { signal: waiting.signal })]);
  // The timer would keep the process alive after its last test.
  waiting.abort();
  unsubscribe(REQUEST_BEGINS, enter);
  Object.assign(database, { transaction, forTenant });
  assert.ok(wasQueued, 'the request asks for no transaction');
  return () => sent;
}

/** Sends a request, and goes on when it waits for a lock that the caller holds. What waited before does not count. */
export async function untilBlocked(service: Service, send: () => Promise<Answer>): Promise<() => Promise<Answer>> {
  const { database } = service.app.kernel;
  if (database.kind === 'sqlite') return queued(database, send);
  const blocked = async () => (await BLOCKED.execute(database.read)).rows;
  const before = (await blocked()).length;
  const sent = send();
  await untilWaiting(blocked, before);
  return () => sent;
}

async function holdingRow(
  databaseUrl: string,
  { table, where }: NeededRow,
  change: () => Promise<Answer>,
  overtake: () => Promise<Answer>,
): Promise<Answer> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('begin');
    const conditions = Object.keys(where).map((column, i) => `${column} = $${i + 1}`);
    const found = await client.query(
      `select 1 from ${table} where ${conditions.join(' and ')} for update`,
      Object.values(where),
    );
    assert.ok(found.rowCount === 1, `one row of ${table} is held`);
    const changing = change();
    await untilWaiting(() => query(databaseUrl, BLOCKED_SQL));
    assertDone(await overtake());
    await client.query('rollback');
    return await changing;
  } finally {
    await client.end();
  }
}

const BLOCKED_SQL = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
const BLOCKED = sql.raw(BLOCKED_SQL);

async function untilWaiting(blocked: () => Promise<readonly unknown[]>, before = 0): Promise<void> {
  await until('the request does not wait for the lock', async () => (await blocked()).length > before);
}

function assertDone({ status, text }: Answer): void {
  assert.ok(status === 200 || status === 204, text);
}
