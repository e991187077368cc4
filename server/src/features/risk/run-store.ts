import { everyTenant } from '../../kernel/integrity/tenant-rows.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { isOver } from '../../kernel/storage/due-times.ts';

export interface RiskRunTables {
  risk_runs: RiskRunRow;
}

/** When the risks of a tenant are computed next, and how far the present run has come. */
export interface RiskRunRow {
  tenant_id: string;
  next_run_at: number;
  /** JSON of a `Position`; empty at the beginning of a run. */
  position: string;
  /** How often a run was requested, so that a run notices that it began before the last request. */
  requests: number;
  reads_known_since: number | null;
  reads_counted_until: number;
  lease_owner: string | null;
  lease_until: number;
  finished_at: number | null;
}

/** Adds the tenants that have no row yet. Their first run is a while later, so that a start is not slowed down by the runs of all tenants. */
export async function addTenants(tx: Tx, firstRunAt: number): Promise<void> {
  const known = await tx.selectFrom('risk_runs').select('tenant_id').execute();
  const ids = new Set((await everyTenant(tx)).map(({ tenant_id }) => tenant_id));
  for (const { tenant_id } of known) ids.delete(tenant_id);
  const missing = [...ids].slice(0, TENANTS_AT_ONCE);
  if (missing.length === 0) return;
  await tx
    .insertInto('risk_runs')
    .values(missing.map((tenantId) => newRun(tenantId, firstRunAt)))
    .onConflict((c) => c.column('tenant_id').doNothing())
    .execute();
}
/** The others have their turn an hour later. */
const TENANTS_AT_ONCE = 1000;

function newRun(tenantId: string, nextRunAt: number): RiskRunRow {
  return {
    tenant_id: tenantId,
    next_run_at: nextRunAt,
    position: '',
    requests: 0,
    reads_known_since: null,
    reads_counted_until: 0,
    lease_owner: null,
    lease_until: 0,
    finished_at: null,
  };
}

export function findRun(db: Reader, tenantId: string): Promise<RiskRunRow | undefined> {
  return db.selectFrom('risk_runs').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst();
}

/** The next run begins as soon as a node is free, also if one is under way. */
export async function requestRun(tx: Tx, tenantId: string): Promise<void> {
  await tx
    .insertInto('risk_runs')
    .values({ ...newRun(tenantId, 0), requests: 1 })
    .onConflict((c) =>
      c.column('tenant_id').doUpdateSet((eb) => ({ next_run_at: 0, requests: eb('risk_runs.requests', '+', 1) })),
    )
    .execute();
}

/** Tenants whose risks are due and are computed by no node, those that wait longest first. */
export function dueRuns(
  db: Reader,
  now: number,
  aheadMax: number,
  { limit, except }: { limit: number; except: readonly string[] },
): Promise<RiskRunRow[]> {
  const query = db
    .selectFrom('risk_runs')
    .selectAll()
    .where(isOver('next_run_at', now, aheadMax))
    .where(isOver('lease_until', now, aheadMax))
    .orderBy('next_run_at')
    .limit(limit);
  return (except.length === 0 ? query : query.where('tenant_id', 'not in', except)).execute();
}

/** Changes the row of a run if it still has its lease; false if another node has taken it. Its lock comes before what commits with it. */
export async function updateRun(
  tx: Tx,
  { tenant_id, lease_owner, lease_until }: RiskRunRow,
  change: Partial<RiskRunRow>,
): Promise<boolean> {
  let query = tx
    .updateTable('risk_runs')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('lease_until', '=', lease_until);
  query = lease_owner === null ? query.where('lease_owner', 'is', null) : query.where('lease_owner', '=', lease_owner);
  return (await query.executeTakeFirst()).numUpdatedRows === 1n;
}
