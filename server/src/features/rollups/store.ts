import { sql } from 'kysely';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { isOver } from '../../kernel/storage/due-times.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

export interface RollupsTables {
  hourly_counts: HourlyCountRow;
  rollup_progress: ProgressRow;
}

/** Without a MAC: the counts are statistics of the audit log, and decide about nobody's access. */
export interface HourlyCountRow {
  tenant_id: string;
  resource: string;
  hour_start: number;
  actor_kind: string;
  actor_id: string;
  /** Empty if unknown. */
  country: string;
  reads: number;
  denied: number;
}

/** How far the log of a tenant is counted. It commits with the counts, so that no entry counts twice or is left out. */
export interface ProgressRow {
  tenant_id: string;
  /** The last entry that is counted. */
  cursor_seq: number;
  /** The time of the oldest entry that was seen. */
  first_entry_at: number | null;
  /** Not before this time, unless somebody needs the counts now. */
  due_at: number;
  lease_owner: string | null;
  lease_until: number;
}

const ROWS_AT_ONCE = 500;
const DELETED_AT_ONCE = 500;
const KEY = ['tenant_id', 'resource', 'hour_start', 'actor_kind', 'actor_id', 'country'] as const;

export type CountKey = Pick<HourlyCountRow, 'resource' | 'hour_start' | 'actor_kind' | 'actor_id' | 'country'>;

export interface CountFilter {
  resource?: string;
  after?: CountKey;
}

/**
 * In the order of the primary key, so that all rows of a resource come one after the other. A condition on the hour would make PostgreSQL expect few
 * rows, and read and sort all of them for each page; so the caller filters by hour.
 */
export function listCounts(
  db: Reader,
  tenantId: string,
  { resource, after }: CountFilter,
  limit: number,
): Promise<HourlyCountRow[]> {
  let query = db
    .selectFrom('hourly_counts')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('resource')
    .orderBy('hour_start')
    .orderBy('actor_kind')
    .orderBy('actor_id')
    .orderBy('country')
    .limit(limit);
  if (resource !== undefined) query = query.where('resource', '=', resource);
  if (after !== undefined) {
    query = query.where((eb) =>
      eb(
        eb.refTuple('resource', 'hour_start', 'actor_kind', 'actor_id', 'country'),
        '>',
        eb.tuple(after.resource, after.hour_start, after.actor_kind, after.actor_id, after.country),
      ),
    );
  }
  return query.execute();
}

export function findProgress(db: Reader, tenantId: string): Promise<ProgressRow | undefined> {
  return db.selectFrom('rollup_progress').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst();
}

/** Two nodes may begin at the same time; then the row of the first one stays. */
export async function insertProgress(tx: Tx, row: ProgressRow): Promise<void> {
  await tx
    .insertInto('rollup_progress')
    .values(row)
    .onConflict((c) => c.column('tenant_id').doNothing())
    .execute();
}

/** Moves the cursor; false if somebody else has moved it. It locks the row, so it comes before the counts that commit with it. */
export async function moveCursor(
  tx: Tx,
  { tenant_id, cursor_seq }: Pick<ProgressRow, 'tenant_id' | 'cursor_seq'>,
  change: Pick<ProgressRow, 'cursor_seq' | 'first_entry_at'>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('rollup_progress')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('cursor_seq', '=', cursor_seq)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

export async function addCounts(tx: Tx, rows: readonly HourlyCountRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    await tx
      .insertInto('hourly_counts')
      .values(rows.slice(at, at + ROWS_AT_ONCE))
      .onConflict((c) =>
        c.columns([...KEY]).doUpdateSet((eb) => ({
          reads: eb('hourly_counts.reads', '+', eb.ref('excluded.reads')),
          denied: eb('hourly_counts.denied', '+', eb.ref('excluded.denied')),
        })),
      )
      .execute();
  }
}

export async function rowsByHour(db: Reader, tenantId: string, hours: readonly number[]): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  for (let at = 0; at < hours.length; at += ROWS_AT_ONCE) {
    const rows = await db
      .selectFrom('hourly_counts')
      .select(['hour_start', (eb) => eb.fn.countAll<number>().as('rows')])
      .where('tenant_id', '=', tenantId)
      .where('hour_start', 'in', hours.slice(at, at + ROWS_AT_ONCE))
      .groupBy('hour_start')
      .execute();
    for (const { hour_start, rows: count } of rows) found.set(Number(hour_start), Number(count));
  }
  return found;
}

/** Rows of an hour for some of its resources. */
export async function keysInHour(
  db: Reader,
  tenantId: string,
  hour: number,
  resources: readonly string[],
): Promise<CountKey[]> {
  const found: CountKey[] = [];
  for (let at = 0; at < resources.length; at += ROWS_AT_ONCE) {
    const rows = await db
      .selectFrom('hourly_counts')
      .select(['resource', 'hour_start', 'actor_kind', 'actor_id', 'country'])
      .where('tenant_id', '=', tenantId)
      .where('hour_start', '=', hour)
      .where('resource', 'in', resources.slice(at, at + ROWS_AT_ONCE))
      .execute();
    found.push(...rows);
  }
  return found;
}

/** Which of these vaults exist, and which of these secrets in them, as the names of resources. */
export async function existingResources(
  db: Reader,
  tenantId: string,
  named: readonly { vault: string; path: string | null }[],
): Promise<Set<string>> {
  const found = new Set<string>();
  for (let at = 0; at < named.length; at += ROWS_AT_ONCE) {
    const part = named.slice(at, at + ROWS_AT_ONCE);
    const vaults = await db
      .selectFrom('vaults')
      .select(['vault_id', 'name'])
      .where('tenant_id', '=', tenantId)
      .where('name', 'in', [...new Set(part.map(({ vault }) => vault))])
      .where('status', '<>', 'deleted')
      .execute();
    if (vaults.length === 0) continue;
    const nameOf = new Map(vaults.map(({ vault_id, name }) => [vault_id, name]));
    for (const { name } of vaults) found.add(`vault/${name}`);
    const paths = [...new Set(part.flatMap(({ path }) => path ?? []))];
    if (paths.length === 0) continue;
    const secrets = await db
      .selectFrom('secrets')
      .select(['vault_id', 'path'])
      .where('tenant_id', '=', tenantId)
      .where('vault_id', 'in', [...nameOf.keys()])
      .where('deleted_no', '=', 0)
      .where('path', 'in', paths)
      .execute();
    for (const { vault_id, path } of secrets) found.add(`vault/${nameOf.get(vault_id)}/${path}`);
  }
  return found;
}

/**
 * Tenants with entries to count, those that wait longest first. A tenant that was never counted has no row yet.
 */
export async function dueTenants(
  db: Reader,
  now: number,
  aheadMax: number,
  { limit, except }: { limit: number; except: readonly string[] },
): Promise<ProgressRow[]> {
  const query = db
    .selectFrom('audit_heads')
    .leftJoin('rollup_progress', 'rollup_progress.tenant_id', 'audit_heads.tenant_id')
    .select(['audit_heads.tenant_id', 'cursor_seq', 'first_entry_at', 'due_at', 'lease_owner', 'lease_until'])
    .where((eb) => eb('audit_heads.seq', '>', eb.fn.coalesce('rollup_progress.cursor_seq', sql<number>`0`)))
    .where((eb) => eb.or([eb('due_at', 'is', null), isOver('due_at', now, aheadMax)]))
    .where((eb) => eb.or([eb('lease_until', 'is', null), isOver('lease_until', now, aheadMax)]))
    .orderBy((eb) => eb.fn.coalesce('rollup_progress.due_at', sql<number>`0`))
    .limit(limit);
  const rows = await (except.length === 0 ? query : query.where('audit_heads.tenant_id', 'not in', except)).execute();
  return rows.map((row) => ({
    ...row,
    cursor_seq: row.cursor_seq ?? 0,
    due_at: row.due_at ?? 0,
    lease_until: row.lease_until ?? 0,
  }));
}

/** False if another node was faster. */
export async function takeLease(
  tx: Tx,
  { tenant_id, lease_until }: ProgressRow,
  lease: Pick<ProgressRow, 'lease_owner' | 'lease_until'>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('rollup_progress')
    .set(lease)
    .where('tenant_id', '=', tenant_id)
    .where('lease_until', '=', lease_until)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

export async function releaseLease(tx: Tx, tenantId: string, owner: string, dueAt: number): Promise<void> {
  await tx
    .updateTable('rollup_progress')
    .set({ lease_owner: null, lease_until: 0, due_at: dueAt })
    .where('tenant_id', '=', tenantId)
    .where('lease_owner', '=', owner)
    .execute();
}

export async function tenantsWithCounts(db: Reader, after: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('rollup_progress')
    .select('tenant_id')
    .where('tenant_id', '>', after)
    .orderBy('tenant_id')
    .limit(limit)
    .execute();
  return rows.map(({ tenant_id }) => tenant_id);
}

/** Deletes some rows of the oldest hour that is over; false if none is. */
export async function deleteOldCounts(tx: Tx, tenantId: string, cutoff: Cutoff): Promise<boolean> {
  const { oldest } = await tx
    .selectFrom('hourly_counts')
    .select((eb) => eb.fn.min('hour_start').as('oldest'))
    .where('tenant_id', '=', tenantId)
    .where('hour_start', '<', cutoff)
    .executeTakeFirstOrThrow();
  if (oldest === null) return false;
  const resources = await tx
    .selectFrom('hourly_counts')
    .select('resource')
    .where('tenant_id', '=', tenantId)
    .where('hour_start', '=', oldest)
    .orderBy('resource')
    .limit(DELETED_AT_ONCE)
    .execute();
  await tx
    .deleteFrom('hourly_counts')
    .where('tenant_id', '=', tenantId)
    .where('hour_start', '=', oldest)
    .where('resource', '<=', resources.at(-1)?.resource ?? '')
    .execute();
  return true;
}
