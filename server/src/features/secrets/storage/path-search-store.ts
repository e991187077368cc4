import { type RawBuilder, sql } from 'kysely';
import type { Reader } from '../../../kernel/storage/database.ts';
import { kindOf } from '../../../kernel/storage/dialect.ts';
import type { SecretRow } from './tables.ts';
import { PATH } from './tenant-wide-store.ts';

/** What a search over all vaults returns of a secret, and what policies decide on. */
const FOUND = [
  'secret_id',
  'vault_id',
  'path',
  'type',
  'environment',
  'protection',
  'version',
  'tags',
  'updated_at',
] as const;
export type FoundByPath = Pick<SecretRow, (typeof FOUND)[number]>;

/** Whether a path contains a text as it stands, or also if the text abbreviates words of the path. */
export type PathMatch = 'part' | 'abbreviation';

/** A place in the secrets of a tenant, ordered by path and vault. */
export interface PathPosition {
  path: string;
  vaultId: string;
}
const BEFORE_ALL: PathPosition = { path: '', vaultId: '' };

/** The secrets after a position. A row comparison would not use the expression of the index on SQLite. */
function after(db: Reader, tenantId: string, { path, vaultId }: PathPosition) {
  return db
    .selectFrom('secrets')
    .where('tenant_id', '=', tenantId)
    .where('deleted_no', '=', 0)
    .where(PATH, '>=', path)
    .where((eb) => eb.or([eb(PATH, '>', path), eb('vault_id', '>', vaultId)]))
    .orderBy(PATH)
    .orderBy('vault_id');
}

/** The position of the secret that is `rows` after this one; null if there are not as many. */
async function positionAfter(
  db: Reader,
  tenantId: string,
  start: PathPosition,
  rows: number,
): Promise<PathPosition | null> {
  const query = after(db, tenantId, start).select([PATH.as('path'), 'vault_id as vaultId']);
  return (
    (await query
      .limit(1)
      .offset(rows - 1)
      .executeTakeFirst()) ?? null
  );
}

/**
 * Secrets between two positions whose path contains every one of these texts, which are in lower case. There is no index for parts of a path, so
 * every path between the positions is read: they bound the work.
 */
function between(
  db: Reader,
  tenantId: string,
  {
    start,
    end,
    parts,
    match,
    limit,
  }: { start: PathPosition; end: PathPosition | null; parts: readonly string[]; match: PathMatch; limit: number },
): Promise<FoundByPath[]> {
  const contains = kindOf(db) === 'sqlite' ? containsOnSqlite : containsOnPostgres;
  let query = after(db, tenantId, start).select(FOUND);
  if (end !== null) {
    query = query
      .where(PATH, '<=', end.path)
      .where((eb) => eb.or([eb(PATH, '<', end.path), eb('vault_id', '<=', end.vaultId)]));
  }
  for (const part of parts) query = query.where(match === 'part' ? contains(part) : abbreviates(part, contains(part)));
  return query.limit(limit).execute();
}

function containsOnSqlite(part: string) {
  return sql<boolean>`instr(lower(${PATH}), ${part}) > 0`;
}

function containsOnPostgres(part: string) {
  return sql<boolean>`strpos(lower(${PATH}), ${part}) > 0`;
}

/** Every separator of words becomes this one, so that no pattern has a wildcard of its own. */
const WORD_STARTS = sql<string>`'/' || replace(replace(replace(lower(${PATH}), '_', '/'), '-', '/'), '.', '/')`;

/** A longer part abbreviates nothing, and would take long to look for. */
const ABBREVIATION_LENGTH_MAX = 32;

/** The letters stand in the path in this order, the first of them at the start of a word; or the path contains the part. */
function abbreviates(part: string, contains: RawBuilder<boolean>) {
  if (part.length > ABBREVIATION_LENGTH_MAX) return contains;
  const letters = part.replace(/[._-]/g, '/').split('').join('%');
  return sql<boolean>`(${contains} or ${WORD_STARTS} like ${`%/${letters}%`})`;
}

/** A search for parts of paths in all vaults of a tenant. */
export const pathSearch = { BEFORE_ALL, positionAfter, between };
