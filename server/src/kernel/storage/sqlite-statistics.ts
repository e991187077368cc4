import { type Kysely, sql } from 'kysely';
import type { Database } from './database.ts';

const ROWS = 10_000_000;
/** Rows with the same value in the first column, which is a tenant, or a time that many rows do not have. */
const ROWS_PER_FIRST = 100_000;
/** Each further column divides them. */
const NARROWED_BY = 100;
const ROWS_PER_KEY_MIN = 10;
/** A partial index has the few rows that wait for something. */
const PARTIAL_SHARE = 1000;

interface IndexShape {
  table: string;
  /** The name of the table for the primary key of a table without rowid. */
  name: string;
  isUnique: number;
  isPartial: number;
  columns: string;
}

/**
 * Tells SQLite how selective each index is. Without statistics it takes the tenant for as good a key as any, and reads all rows of a tenant by the
 * primary key where another index would find the one row. Statistics that SQLite computes itself would change its plans with the data.
 */
export async function fixStatistics(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    const db = tx as unknown as Kysely<unknown>;
    const wanted = (await indexShapes(db)).map((index) => ({ ...index, stat: statisticsOf(index) }));
    if ((await storedStatistics(db)) === JSON.stringify(wanted.map(({ name, stat }) => [name, stat]))) return;
    // A new table makes every connection load the schema again, and with it the statistics.
    await sql`drop table if exists sqlite_stat1`.execute(db);
    await sql`analyze sqlite_schema`.execute(db);
    for (const { table, name, stat } of wanted) {
      await sql`insert into sqlite_stat1 (tbl, idx, stat) values (${table}, ${name}, ${stat})`.execute(db);
    }
    await sql`analyze sqlite_schema`.execute(db);
  });
}

function statisticsOf({ isUnique, isPartial, columns }: IndexShape): string {
  const names = columns.split(',');
  const share = isPartial === 1 ? PARTIAL_SHARE : 1;
  const rows = names.map((_, i) => {
    if (isUnique === 1 && i === names.length - 1) return 1;
    return Math.max(ROWS_PER_KEY_MIN, ROWS_PER_FIRST / share / NARROWED_BY ** i);
  });
  return [ROWS / share, ...rows].join(' ');
}

async function indexShapes(db: Kysely<unknown>): Promise<IndexShape[]> {
  const { rows } = await sql<IndexShape>`
    select t.name as "table", iif(i.origin = 'pk' and t.wr = 1, t.name, i.name) as name, i."unique" as "isUnique", i.partial as "isPartial",
      (select group_concat(coalesce(c.name, ''), ',') from pragma_index_info(i.name) as c) as columns
    from pragma_table_list as t, pragma_index_list(t.name) as i
    where t.schema = 'main' and t.name not like 'sqlite\\_%' escape '\\'
    order by name`.execute(db);
  return rows;
}

async function storedStatistics(db: Kysely<unknown>): Promise<string> {
  const { rows: tables } = await sql`select 1 from sqlite_schema where name = 'sqlite_stat1'`.execute(db);
  if (tables.length === 0) return '';
  const { rows } = await sql<{ idx: string; stat: string }>`select idx, stat from sqlite_stat1 order by idx`.execute(
    db,
  );
  return JSON.stringify(rows.map(({ idx, stat }) => [idx, stat]));
}
