import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { TableMetadata } from 'kysely';
import { type Database, UniqueViolation } from '../server/src/kernel/storage/database.ts';
import { SCHEMA_VERSION } from '../server/src/kernel/storage/schema-version.ts';
import { openDatabase } from './support/database.ts';
import { behindItsBack } from './support/rows.ts';
import { DATABASES } from './support/service.ts';

/** Stores rely on every table behaving alike on both databases. Each rule is checked for every table and column that the migrations make. */

type Row = Record<string, string | number | Uint8Array | null>;

/** Bytes that each database sorts, quotes or encodes in its own way unless it is told not to. */
const TEXTS = [
  '',
  'a',
  'B',
  'b',
  'é',
  'Z',
  '_',
  '漢',
  '𝔘',
  `it's "quoted" \\ and %`,
  ' space ',
  'line\nbreak',
  '{"json":1}',
];
const NUMBERS = [0, 1, -1, 2 ** 31 - 1];
const LONG_NUMBERS = [...NUMBERS, 2 ** 53 - 1, -(2 ** 53) + 1];
const BYTES = [new Uint8Array(), Uint8Array.from({ length: 256 }, (_, i) => i), new Uint8Array([0, 0xff, 0x27])];

type Kind = 'text' | 'integer' | 'bigint' | 'blob';

function kindOf(dataType: string): Kind {
  const known: Record<string, Kind> = {
    text: 'text',
    varchar: 'text',
    integer: 'integer',
    int4: 'integer',
    bigint: 'bigint',
    int8: 'bigint',
    blob: 'blob',
    bytea: 'blob',
  };
  const kind = known[dataType.toLowerCase()];
  assert.ok(kind !== undefined, `a column of type ${dataType}, which this suite does not know`);
  return kind;
}

/** The one row that migrations read, in a table that each database makes in its own way. */
const MIGRATIONS = 'schema_version';

const VALUES = { text: TEXTS, integer: NUMBERS, bigint: LONG_NUMBERS, blob: BYTES };

/** A row whose columns hold the n-th value of their kinds. A text ends in n, so that keys differ. */
function rowOf(table: TableMetadata, n: number): Row {
  return fill(table, (kind) =>
    kind === 'text' ? `${TEXTS[n % TEXTS.length]}${n}` : VALUES[kind][n % VALUES[kind].length],
  );
}

/** As above, with numbers and bytes that differ from those of every other row too. */
function distinctRowOf(table: TableMetadata, n: number): Row {
  const number = (n - 5) * 7919;
  return fill(
    table,
    (kind) => ({ text: `${TEXTS[n]}${n}`, integer: number, bigint: number * 2 ** 20, blob: Uint8Array.of(n) })[kind],
  );
}

/** Columns whose values a constraint limits: segments of older releases are refused. */
const LIMITED: Record<string, Row> = { audit_segments: { schema_version: SCHEMA_VERSION } };

function fill({ name: table, columns }: TableMetadata, valueFor: (kind: Kind) => Row[string] | undefined): Row {
  const values = columns.map(({ name, dataType }) => [name, valueFor(kindOf(dataType)) ?? null]);
  return { ...Object.fromEntries(values), ...LIMITED[table] };
}

const plain = (row: Row) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
    ]),
  );

describe('every table, on each database', () => {
  const opened = new Map<string, { database: Database; tables: TableMetadata[] }>();
  before(async () => {
    for (const kind of DATABASES) {
      const database = await openDatabase(kind);
      const tables = await database.read.introspection.getTables();
      opened.set(kind, { database, tables: tables.filter(({ name }) => name !== MIGRATIONS) });
    }
  });

  const each = async (act: (database: Database, table: TableMetadata, kind: string) => Promise<void>) => {
    for (const [kind, { database, tables }] of opened) for (const table of tables) await act(database, table, kind);
  };

  test('has the same columns, of the same kinds, with the same ones that may be null', () => {
    const shapes = [...opened.values()].map(({ tables }) =>
      tables
        .map(({ name, columns }) => ({
          name,
          columns: columns.map((c) => [c.name, kindOf(c.dataType), c.isNullable]).sort(),
        }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    );
    for (const shape of shapes) assert.deepEqual(shape, shapes[0]);
    assert.ok((shapes[0]?.length ?? 0) > 40);
  });

  test('gives back what was put in: every text, number and byte, and null where it may be', async () => {
    await each(async (database, table, kind) => {
      const rows = [...Array(TEXTS.length).keys()].map((n) => rowOf(table, n));
      const nullable = table.columns.filter(({ isNullable }) => isNullable).map(({ name }) => name);
      const empty = {
        ...rowOf(table, 100),
        ...Object.fromEntries(nullable.map((name) => [name, null])),
        ...LIMITED[table.name],
      };
      for (const row of [...rows, empty]) {
        const [found] = await rolledBack(database, async (db) => {
          await db.deleteFrom(table.name).execute();
          await db.insertInto(table.name).values(row).execute();
          return db.selectFrom(table.name).selectAll().execute();
        });
        assert.deepEqual(plain(found as Row), plain(row), `${table.name} on ${kind}`);
      }
    });
  });

  test('refuses a second row with the same key as a UniqueViolation', async () => {
    await each(async (database, table, kind) => {
      const twice = rolledBack(database, async (db) => {
        await db.deleteFrom(table.name).execute();
        for (let i = 0; i < 2; i++) await db.insertInto(table.name).values(rowOf(table, 1)).execute();
        return [];
      });
      // The key of a segment is given to a tombstone instead, and its caller may try again.
      const isTombstoned = table.name === 'audit_segments' && kind === 'postgres';
      await assert.rejects(twice, isTombstoned ? { code: 'UNAVAILABLE' } : UniqueViolation, `${table.name} on ${kind}`);
    });
  });

  test('is sorted alike by each of its columns', async () => {
    const orders: string[][] = [];
    for (const { database, tables } of opened.values()) {
      const found: string[] = [];
      for (const table of tables.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
        const sorted = await rolledBack(database, async (db) => {
          await db.deleteFrom(table.name).execute();
          for (let n = 0; n < TEXTS.length; n++)
            await db.insertInto(table.name).values(distinctRowOf(table, n)).execute();
          const lists: unknown[] = [];
          for (const { name } of table.columns) {
            const rows = await db.selectFrom(table.name).select(name).orderBy(name).execute();
            lists.push(`${name} ${rows.map((row: Row) => String(plain(row)[name])).join(' | ')}`);
          }
          return lists;
        });
        found.push(`${table.name}: ${(sorted as string[]).sort().join('\n')}`);
      }
      orders.push(found);
    }
    for (const order of orders) assert.deepEqual(order, orders[0]);
  });
});

/** Runs it in a transaction of which nothing stays. */
async function rolledBack(database: Database, act: Parameters<typeof behindItsBack<unknown[]>>[1]): Promise<unknown[]> {
  let result: unknown[] = [];
  const done = new Error('rolled back');
  await behindItsBack(database, async (db) => {
    result = await act(db);
    throw done;
  }).catch((error) => {
    if (error !== done) throw error;
  });
  return result;
}
