import { type Kysely, sql } from 'kysely';
import { startingWith } from '../../../kernel/authz/path-ranges.ts';
import type { Reader } from '../../../kernel/storage/database.ts';
import { kindOf } from '../../../kernel/storage/dialect.ts';
import { type Parameter, PreparedQuery } from '../../../kernel/storage/prepared-query.ts';
import type { Tables } from '../../../kernel/storage/tables.ts';
import type { SecretRow } from '../storage/tables.ts';
import type { DecidedRow } from './bulk-decrypt.ts';

interface Within {
  tenantId: string;
  vaultId: string;
}

/** A secret with the MAC of its row, which is not checked here but where its value is read. */
export type MarkedRow = DecidedRow & Pick<SecretRow, 'type'> & { row_mac: Uint8Array | null };

/** An array for PostgreSQL, and its JSON for SQLite, so that the statement is the same for any number of paths. */
type AtPaths = Within & { paths: readonly string[] | string };
type Below = Within & { from: string; to: string; limit: number };

function rowsIn(db: Kysely<Tables>, parameter: Parameter<Within>) {
  return db
    .selectFrom('secrets')
    .where('tenant_id', '=', parameter('tenantId'))
    .where('vault_id', '=', parameter('vaultId'))
    .where('deleted_no', '=', 0);
}

function rowsAt(db: Kysely<Tables>, parameter: Parameter<AtPaths>) {
  const paths = parameter('paths');
  const isNamed =
    kindOf(db) === 'sqlite'
      ? sql<boolean>`path in (select value from json_each(${paths}))`
      : sql<boolean>`path = any(${paths}::text[])`;
  return rowsIn(db, parameter).where(isNamed);
}

function rowsBelow(db: Kysely<Tables>, parameter: Parameter<Below>) {
  return rowsIn(db, parameter)
    .where('path', '>=', parameter('from'))
    .where('path', '<', parameter('to'))
    .orderBy('path')
    .limit(parameter('limit'));
}

type Rows = ReturnType<typeof rowsIn>;

function decided(rows: Rows) {
  return rows
    .select(['secret_id', 'type', 'version', 'protection', 'path', 'environment', 'tags', 'row_mac'])
    .select(sql<number>`length(sealed)`.as('sealed_bytes'));
}

const AT = new PreparedQuery<AtPaths, MarkedRow>((db, parameter) => decided(rowsAt(db, parameter)));
const BELOW = new PreparedQuery<Below, MarkedRow>((db, parameter) => decided(rowsBelow(db, parameter)));
const MACS_AT = new PreparedQuery<AtPaths, Macs>((db, parameter) => macsOf(db, rowsAt(db, parameter)));
const MACS_BELOW = new PreparedQuery<Below, Macs>((db, parameter) => macsOf(db, rowsBelow(db, parameter)));

interface Macs {
  macs: string | null;
}

function macsOf(db: Kysely<Tables>, rows: Rows) {
  const hex = kindOf(db) === 'sqlite' ? sql`lower(hex(row_mac))` : sql`encode(row_mac, 'hex')`;
  return db
    .selectFrom(rows.select(['path', 'row_mac']).as('found'))
    .select(sql<string | null>`string_agg(coalesce(${hex}, ''), ' ' order by path)`.as('macs'));
}

function atPaths(db: Reader, within: Within, paths: readonly string[]): AtPaths {
  return { ...within, paths: kindOf(db) === 'sqlite' ? JSON.stringify(paths) : paths };
}

function below(within: Within, path: string, limit: number): Below {
  return { ...within, ...startingWith(`${path}/`), limit };
}

/** The secrets at these paths of a vault, by path. */
export async function secretsAt(db: Reader, within: Within, paths: readonly string[]): Promise<Map<string, MarkedRow>> {
  if (paths.length === 0) return new Map();
  const rows = await AT.run(db, atPaths(db, within, paths));
  return new Map(rows.map((row) => [row.path, row]));
}

/** The secrets below a path of a vault, in order, at most `limit`. */
export function secretsBelow(db: Reader, within: Within, path: string, limit: number): Promise<MarkedRow[]> {
  return BELOW.run(db, below(within, path, limit));
}

/**
 * The MACs of rows, in the order of their paths. A MAC covers every column that decides something, so while this text stays the same, so do the
 * secrets. It must equal what `markAt` and `markBelow` return for the same rows.
 */
export function markOf(rows: Iterable<MarkedRow>): string {
  const sorted = [...rows].sort((a, b) => (a.path < b.path ? -1 : 1));
  return sorted.map(({ row_mac }) => (row_mac === null ? '' : Buffer.from(row_mac).toString('hex'))).join(' ');
}

/** `markOf` the secrets at these paths, which the database computes without returning the rows. */
export async function markAt(db: Reader, within: Within, paths: readonly string[]): Promise<string> {
  if (paths.length === 0) return '';
  const [found] = await MACS_AT.run(db, atPaths(db, within, paths));
  return found?.macs ?? '';
}

/** `markOf` the secrets below a path, of which at most `limit` count. */
export async function markBelow(db: Reader, within: Within, path: string, limit: number): Promise<string> {
  const [found] = await MACS_BELOW.run(db, below(within, path, limit));
  return found?.macs ?? '';
}
