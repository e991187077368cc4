import { type ExpressionBuilder, type Kysely, type SqlBool, sql } from 'kysely';
import type { PathRange } from '../../../kernel/authz/path-ranges.ts';
import type { Reader } from '../../../kernel/storage/database.ts';
import { type Parameter, PreparedQuery } from '../../../kernel/storage/prepared-query.ts';
import type { Tables } from '../../../kernel/storage/tables.ts';
import { type ListedRow, type SecretTagRow, SUMMARY } from '../storage/tables.ts';

export interface ListFilter {
  type?: string | undefined;
  /** Only secrets whose latest backend rotation failed. */
  isRotationFailed?: boolean | undefined;
  tags?: readonly string[] | undefined;
  environments?: readonly string[] | undefined;
  /** Only secrets whose value ends before this time. */
  expiresBefore?: number | undefined;
}

const SEALED_BYTES = sql<number>`length(sealed)`.as('sealed_bytes');
const LISTED = [...SUMMARY, SEALED_BYTES] as const;
/** What a bulk read decides by and shows beside the value. */
const BULK = ['secret_id', 'path', 'type', 'environment', 'protection', 'version', 'tags'] as const;
export type BulkRow = Pick<ListedRow, (typeof BULK)[number] | 'sealed_bytes'>;

type Unfiltered = { tenantId: string; vaultId: string; from: string; to: string; limit: number };

/** The most frequent list: everything in a range of paths. */
const UNFILTERED = new PreparedQuery<Unfiltered, ListedRow>((db, parameter) => inRange(db, parameter).select(LISTED));
const BULK_ROWS = new PreparedQuery<Unfiltered, BulkRow>((db, parameter) =>
  inRange(db, parameter).select([...BULK, SEALED_BYTES]),
);

function inRange(db: Kysely<Tables>, parameter: Parameter<Unfiltered>) {
  return db
    .selectFrom('secrets')
    .where('tenant_id', '=', parameter('tenantId'))
    .where('vault_id', '=', parameter('vaultId'))
    .where('deleted_no', '=', 0)
    .where('path', '>=', parameter('from'))
    .where('path', '<', parameter('to'))
    .orderBy('path')
    .limit(parameter('limit'));
}

interface InRange {
  range: PathRange;
  limit: number;
}

/** Secrets in a range of paths, ordered by path, with the few columns that a bulk read needs. */
export function bulkRowsIn(
  db: Reader,
  { tenantId, vaultId }: { tenantId: string; vaultId: string },
  { range, limit }: InRange,
): Promise<BulkRow[]> {
  return BULK_ROWS.run(db, { tenantId, vaultId, from: range.from, to: range.to, limit });
}

/** Summaries in a range of paths, ordered by path. With tags, the first one selects the index range. */
export function summariesIn(
  db: Reader,
  { tenantId, vaultId }: { tenantId: string; vaultId: string },
  { range, filter, limit }: InRange & { filter: ListFilter },
): Promise<ListedRow[]> {
  const [first, ...others] = filter.tags ?? [];
  if (isUnfiltered(filter)) return UNFILTERED.run(db, { tenantId, vaultId, from: range.from, to: range.to, limit });
  if (first === undefined) {
    let query = db
      .selectFrom('secrets')
      .select(LISTED)
      .where('tenant_id', '=', tenantId)
      .where('vault_id', '=', vaultId)
      .where('deleted_no', '=', 0);
    if (filter.type !== undefined) query = query.where('type', '=', filter.type);
    if (filter.environments !== undefined) query = query.where('environment', 'in', filter.environments);
    if (filter.isRotationFailed === true) query = query.where(lastRotationFailed('secrets'));
    if (filter.expiresBefore !== undefined) query = query.where(endsBefore('secrets', filter.expiresBefore));
    return query.where('path', '>=', range.from).where('path', '<', range.to).orderBy('path').limit(limit).execute();
  }
  let query = db
    .selectFrom('secret_tags as t')
    .innerJoin('secrets as s', (join) =>
      join
        .onRef('s.tenant_id', '=', 't.tenant_id')
        .onRef('s.vault_id', '=', 't.vault_id')
        .on('s.deleted_no', '=', 0)
        .onRef('s.path', '=', 't.path'),
    )
    .select([...SUMMARY.map((column) => `s.${column}` as const), sql<number>`length(s.sealed)`.as('sealed_bytes')])
    .where('t.tenant_id', '=', tenantId)
    .where('t.vault_id', '=', vaultId)
    .where('t.tag', '=', first)
    .where('t.path', '>=', range.from)
    .where('t.path', '<', range.to);
  for (const tag of others) query = query.where(hasTag(tag));
  if (filter.type !== undefined) query = query.where('s.type', '=', filter.type);
  if (filter.environments !== undefined) query = query.where('s.environment', 'in', filter.environments);
  if (filter.isRotationFailed === true) query = query.where(lastRotationFailed('s'));
  if (filter.expiresBefore !== undefined) query = query.where(endsBefore('s', filter.expiresBefore));
  return query.orderBy('t.path').limit(limit).execute() as Promise<ListedRow[]>;
}

function isUnfiltered({ type, tags = [], environments, isRotationFailed, expiresBefore }: ListFilter): boolean {
  const isPlain = type === undefined && tags.length === 0 && environments === undefined;
  return isPlain && isRotationFailed !== true && expiresBefore === undefined;
}

/** The end of a certificate that was not read yet is -1. */
function endsBefore(secrets: 'secrets' | 's', time: number) {
  const end = sql.ref(`${secrets}.expires_at`);
  return sql<SqlBool>`${end} > 0 and ${end} < ${time}`;
}

/** Rotation ids sort by time. */
function lastRotationFailed(secrets: 'secrets' | 's') {
  const [tenantId, secretId] = [sql.ref(`${secrets}.tenant_id`), sql.ref(`${secrets}.secret_id`)];
  return sql<SqlBool>`(select r.status from rotations r where r.tenant_id = ${tenantId} and r.secret_id = ${secretId}
    order by r.rotation_id desc limit 1) = 'failed'`;
}

type TagJoin = Tables & { t: SecretTagRow; s: Tables['secrets'] };

function hasTag(tag: string) {
  return (eb: ExpressionBuilder<TagJoin, 't' | 's'>) =>
    eb.exists(
      eb
        .selectFrom('secret_tags as o')
        .select('o.tag')
        .whereRef('o.tenant_id', '=', 't.tenant_id')
        .whereRef('o.vault_id', '=', 't.vault_id')
        .where('o.tag', '=', tag)
        .whereRef('o.path', '=', 't.path'),
    );
}
