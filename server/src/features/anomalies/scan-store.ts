import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { isOver } from '../../kernel/storage/due-times.ts';

export interface AnomaliesScanTables {
  anomaly_scans: ScanRow;
  connection_uses: ConnectionUseRow;
}

/** When a tenant was scanned, and which scan of which node runs now. */
export interface ScanRow {
  tenant_id: string;
  /** How many scans have ended. */
  scan_no: number;
  last_scanned_at: number | null;
  /** When a scan was requested, until one that began later has ended. */
  requested_at: number | null;
  /** Not before this time, after a scan that failed. */
  retry_at: number;
  lease_owner: string | null;
  lease_until: number;
}

/** When a connection was last used. Counts are deleted after 35 days, which is too early to tell that a connection is unused for 60. */
export interface ConnectionUseRow {
  tenant_id: string;
  client_id: string;
  last_used_at: number;
}

const NEW_AT_ONCE = 1000;
const USES_AT_ONCE = 500;

/** Tenants that have no row yet get one; returns how many. Their first scan is not before a time. */
export async function addMissingScans(tx: Tx, firstAt: number): Promise<number> {
  const rows = await tx
    .selectFrom('tenants')
    .leftJoin('anomaly_scans', 'anomaly_scans.tenant_id', 'tenants.tenant_id')
    .select('tenants.tenant_id')
    .where('anomaly_scans.tenant_id', 'is', null)
    .limit(NEW_AT_ONCE)
    .execute();
  for (const { tenant_id } of rows) await insertScan(tx, tenant_id, firstAt);
  return rows.length;
}

async function insertScan(tx: Tx, tenant_id: string, retry_at: number): Promise<void> {
  await tx
    .insertInto('anomaly_scans')
    .values({
      tenant_id,
      scan_no: 0,
      last_scanned_at: null,
      requested_at: null,
      retry_at,
      lease_owner: null,
      lease_until: 0,
    })
    .onConflict((c) => c.column('tenant_id').doNothing())
    .execute();
}

export interface DueTime {
  now: number;
  /** A tenant that was scanned before is due. */
  before: number;
  /** No time is set further ahead than this, except by a wrong clock. */
  aheadMaxMs: number;
}

/** Active tenants that are due and that no node scans, those that waited longest first. */
export function dueScans(
  db: Reader,
  { now, before, aheadMaxMs }: DueTime,
  { limit, except }: { limit: number; except: readonly string[] },
): Promise<ScanRow[]> {
  const query = db
    .selectFrom('anomaly_scans')
    .innerJoin('tenants', 'tenants.tenant_id', 'anomaly_scans.tenant_id')
    .selectAll('anomaly_scans')
    .where('tenants.status', '=', 'active')
    .where((eb) =>
      eb.or([
        eb('requested_at', 'is not', null),
        eb('last_scanned_at', 'is', null),
        eb('last_scanned_at', '<=', before),
        eb('last_scanned_at', '>', now + aheadMaxMs),
      ]),
    )
    .where(isOver('retry_at', now, aheadMaxMs))
    .where(isOver('lease_until', now, aheadMaxMs))
    .orderBy((eb) => eb.fn.coalesce('last_scanned_at', eb.val(0)))
    .limit(limit);
  return (except.length === 0 ? query : query.where('anomaly_scans.tenant_id', 'not in', except)).execute();
}

/** Takes a tenant for a node; false if another node was faster. */
export async function takeScan(
  tx: Tx,
  { tenant_id, lease_until, scan_no }: ScanRow,
  lease: Pick<ScanRow, 'lease_owner' | 'lease_until'>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('anomaly_scans')
    .set(lease)
    .where('tenant_id', '=', tenant_id)
    .where('lease_until', '=', lease_until)
    .where('scan_no', '=', scan_no)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Changes the row of a scan; false if another node has taken it since, or it has ended. */
export async function updateScan(
  tx: Tx,
  { tenant_id, lease_owner, scan_no }: ScanRow,
  change: Partial<Omit<ScanRow, 'tenant_id'>>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('anomaly_scans')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('lease_owner', '=', lease_owner)
    .where('scan_no', '=', scan_no)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** A request that came while the scan ran asks for another one, and stays. */
export async function fulfilRequests(tx: Tx, tenantId: string, startedAt: number): Promise<void> {
  await tx
    .updateTable('anomaly_scans')
    .set({ requested_at: null })
    .where('tenant_id', '=', tenantId)
    .where('requested_at', '<=', startedAt)
    .execute();
}

export async function requestScan(tx: Tx, tenantId: string, now: number): Promise<ScanRow | undefined> {
  await insertScan(tx, tenantId, 0);
  await tx
    .updateTable('anomaly_scans')
    .set({ requested_at: now, retry_at: 0 })
    .where('tenant_id', '=', tenantId)
    .execute();
  return findScan(tx, tenantId);
}

export function findScan(db: Reader, tenantId: string): Promise<ScanRow | undefined> {
  return db.selectFrom('anomaly_scans').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst();
}

export async function connectionUses(
  db: Reader,
  tenantId: string,
  clientIds: readonly string[],
): Promise<Map<string, number>> {
  if (clientIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('connection_uses')
    .select(['client_id', 'last_used_at'])
    .where('tenant_id', '=', tenantId)
    .where('client_id', 'in', clientIds)
    .execute();
  return new Map(rows.map(({ client_id, last_used_at }) => [client_id, Number(last_used_at)]));
}

/** A later use stays, because a scan that began earlier may end after one that has seen it. */
export async function storeUses(tx: Tx, tenantId: string, uses: ReadonlyMap<string, number>): Promise<void> {
  const rows = [...uses].map(([client_id, last_used_at]) => ({ tenant_id: tenantId, client_id, last_used_at }));
  for (let i = 0; i < rows.length; i += USES_AT_ONCE) {
    await tx
      .insertInto('connection_uses')
      .values(rows.slice(i, i + USES_AT_ONCE))
      .onConflict((c) =>
        c
          .columns(['tenant_id', 'client_id'])
          .doUpdateSet((eb) => ({ last_used_at: eb.ref('excluded.last_used_at') }))
          .whereRef('connection_uses.last_used_at', '<', 'excluded.last_used_at' as never),
      )
      .execute();
  }
}

export async function deleteUse(tx: Tx, tenantId: string, clientId: string): Promise<void> {
  await tx.deleteFrom('connection_uses').where('tenant_id', '=', tenantId).where('client_id', '=', clientId).execute();
}
