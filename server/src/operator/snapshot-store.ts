import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { Client } from 'pg';
import { connectTo } from '../kernel/storage/database-servers.ts';

const BACKUP = { application_name: 'coffer backup' };

/** Rows fetched at a time, adapted to the size of the last ones: a version of a secret can be larger than 1 MiB. */
const FETCHED_FIRST = 16;
const FETCHED_MAX = 500;
const FETCHED_BYTES = 4 * 1024 * 1024;
/** Below the limit of parameters in one PostgreSQL statement. */
const PARAMETERS_MAX = 60_000;

export type Row = Record<string, unknown>;

/** Approximate memory of a row. */
export function bytesOf(row: Row): number {
  return Object.values(row).reduce<number>((sum, value) => sum + lengthOf(value), 0);
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;
}

/** A consistent snapshot of a database, while others continue to write. */
export interface Snapshot {
  tables(): Promise<string[]>;
  rows(table: string): AsyncIterable<Row>;
  count(table: string): Promise<number>;
  close(): Promise<void>;
}

/** Inserts all rows in one transaction, so that at any instant everything is there or nothing. */
export interface Filling {
  insert(table: string, rows: readonly Row[]): Promise<void>;
  count(table: string): Promise<number>;
  commit(): Promise<void>;
  undo(): Promise<void>;
}

/** Table names come from the database itself or from a backup that only the root key can create; they are quoted nevertheless. */
function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function sqliteSnapshot(file: string): Snapshot {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  // SQLite takes the snapshot at the first read, not at `begin`.
  database.exec('begin; select count(*) from sqlite_master');
  const named = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name";
  return {
    tables: async () =>
      database
        .prepare(named)
        .all()
        .map(({ name }) => String(name)),
    async *rows(table) {
      for (const row of database.prepare(`select * from ${quoted(table)}`).iterate()) yield row;
    },
    count: async (table) => sqliteCount(database, table),
    close: async () => database.close(),
  };
}

function sqliteCount(database: DatabaseSync, table: string): number {
  return Number(database.prepare(`select count(*) as n from ${quoted(table)}`).get()?.['n']);
}

async function postgresCount(client: Pick<Client, 'query'>, table: string): Promise<number> {
  const { rows } = await client.query<{ n: string }>(`select count(*) as n from ${quoted(table)}`);
  return Number(rows[0]?.n);
}

export function sqliteFilling(file: string): Filling & { close(): void } {
  const database = new DatabaseSync(file);
  database.exec('pragma synchronous = full; begin immediate');
  return {
    async insert(table, rows) {
      for (const row of rows) {
        const columns = Object.keys(row);
        const marks = columns.map(() => '?').join(', ');
        database
          .prepare(`insert into ${quoted(table)} (${columns.map(quoted).join(', ')}) values (${marks})`)
          .run(...(Object.values(row) as SQLInputValue[]));
      }
    },
    count: async (table) => sqliteCount(database, table),
    commit: async () => database.exec('commit; pragma wal_checkpoint(truncate)'),
    undo: async () => database.exec('rollback'),
    close: () => database.close(),
  };
}

export async function postgresSnapshot(url: string): Promise<Snapshot> {
  const client = await connectTo(url, BACKUP);
  await client.query('begin isolation level repeatable read read only');
  const named = 'select tablename from pg_tables where schemaname = current_schema() order by tablename';
  return {
    tables: async () => (await client.query<{ tablename: string }>(named)).rows.map(({ tablename }) => tablename),
    async *rows(table) {
      await client.query(`declare backup no scroll cursor for select * from ${quoted(table)}`);
      for (let fetched = FETCHED_FIRST; ; ) {
        const { rows } = await client.query<Row>(`fetch ${fetched} from backup`);
        yield* rows;
        if (rows.length < fetched) break;
        const bytes = rows.reduce((sum, row) => sum + bytesOf(row), 0);
        fetched = Math.min(FETCHED_MAX, Math.max(1, Math.floor((FETCHED_BYTES * fetched) / bytes)));
      }
      await client.query('close backup');
    },
    count: (table) => postgresCount(client, table),
    close: () => client.end(),
  };
}

export async function postgresFilling(url: string): Promise<Filling & { close(): Promise<void> }> {
  const client = await connectTo(url, BACKUP);
  await client.query('begin');
  return {
    async insert(table, rows) {
      const [first] = rows;
      if (first === undefined) return;
      const columns = Object.keys(first);
      const together = Math.max(1, Math.floor(PARAMETERS_MAX / columns.length));
      for (let at = 0; at < rows.length; at += together) {
        const some = rows.slice(at, at + together);
        let n = 0;
        const values = some.map(() => `(${columns.map(() => `$${++n}`).join(', ')})`).join(', ');
        const parameters = some.flatMap((row) => columns.map((column) => row[column]));
        await client.query(
          `insert into ${quoted(table)} (${columns.map(quoted).join(', ')}) values ${values}`,
          parameters,
        );
      }
    },
    count: (table) => postgresCount(client, table),
    commit: async () => {
      await client.query('commit');
    },
    undo: async () => {
      await client.query('rollback');
    },
    close: () => client.end(),
  };
}
