import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DATABASE_FILE } from '../../server/src/start/open-storage.ts';
import type { DatabaseKind, Service } from './service.ts';

export type Row = Record<string, unknown>;

/** Somebody who can read and write the database, by a connection of their own, and has no root key. */
export interface Attacker {
  rows(table: string, where?: Row): Promise<Row[]>;
  row(table: string, where: Row): Promise<Row>;
  insert(table: string, row: Row): Promise<void>;
  update(table: string, where: Row, change: Row): Promise<void>;
  delete(table: string, where: Row): Promise<void>;
  close(): Promise<void>;
}

export async function attackerOf(kind: DatabaseKind, service: Service, databaseUrl?: string): Promise<Attacker> {
  const run = kind === 'sqlite' ? overSqlite(service) : await overPostgres(String(databaseUrl));
  const mark = (n: number) => (kind === 'sqlite' ? '?' : `$${n}`);
  const conditions = (where: Row, from: number) =>
    Object.keys(where)
      .map((column, i) => `${column} = ${mark(from + i)}`)
      .join(' and ') || '1 = 1';
  const rows = (table: string, where: Row = {}) =>
    run.all(`select * from ${table} where ${conditions(where, 1)}`, Object.values(where));
  return {
    rows,
    async row(table, where) {
      const [found] = await rows(table, where);
      if (found === undefined) throw new Error(`there is no such row in ${table}`);
      return found;
    },
    async insert(table, row) {
      const columns = Object.keys(row);
      const marks = columns.map((_, i) => mark(i + 1)).join(', ');
      await run.all(`insert into ${table} (${columns.join(', ')}) values (${marks})`, Object.values(row));
    },
    async update(table, where, change) {
      const columns = Object.keys(change);
      const set = columns.map((column, i) => `${column} = ${mark(i + 1)}`).join(', ');
      const values = [...Object.values(change), ...Object.values(where)];
      await run.all(`update ${table} set ${set} where ${conditions(where, columns.length + 1)}`, values);
    },
    async delete(table, where) {
      await run.all(`delete from ${table} where ${conditions(where, 1)}`, Object.values(where));
    },
    close: run.close,
  };
}

interface Run {
  all(sql: string, values: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

function overSqlite({ dataDir }: Service): Run {
  const database = new DatabaseSync(join(dataDir, DATABASE_FILE));
  return {
    all: (sql, values) => unlocked(() => database.prepare(sql).all(...(values as SQLInputValue[])) as Row[]),
    close: async () => database.close(),
  };
}

/** Waits for a transaction of the service. It is in this process, so it ends only while nothing here waits synchronously. */
export async function unlocked<T>(act: () => T): Promise<T> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    try {
      return act();
    } catch (error) {
      const isLocked = error instanceof Error && error.message === 'database is locked';
      if (!isLocked || performance.now() > deadline) throw error;
    }
    await sleep(20);
  }
}

async function overPostgres(url: string): Promise<Run> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return { all: async (sql, values) => (await client.query(sql, values)).rows, close: () => client.end() };
}
