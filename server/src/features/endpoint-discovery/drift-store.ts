import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

export interface EndpointDiscoveryDriftTables {
  former_users: FormerUserRow;
  drift_notices: NoticeRow;
}

/** A deleted user. Nothing is granted by it: it only names somebody in a list of drift. */
export interface FormerUserRow {
  tenant_id: string;
  user_id: string;
  email: string;
  left_at: number;
}

/** When drift was last announced. Anyone who changes it can only make an announcement come earlier or later. */
export interface NoticeRow {
  tenant_id: string;
  notified_at: number;
}

/** Drift has all of them in memory. */
export const FORMER_USERS_MAX = 10_000;
const DELETED_AT_ONCE = 500;

export async function insertFormerUser(tx: Tx, row: FormerUserRow): Promise<void> {
  await tx
    .insertInto('former_users')
    .values(row)
    .onConflict((c) => c.columns(['tenant_id', 'user_id']).doNothing())
    .execute();
}

/** Users who left last, if there are too many. */
export function formerUsers(db: Reader, tenantId: string): Promise<FormerUserRow[]> {
  return db
    .selectFrom('former_users')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('left_at', 'desc')
    .orderBy('user_id')
    .limit(FORMER_USERS_MAX)
    .execute();
}

/** Deletes people who left before; returns how many. */
export async function deleteFormerUsers(tx: Tx, cutoff: Cutoff): Promise<number> {
  const rows = await tx
    .selectFrom('former_users')
    .select(['tenant_id', 'user_id'])
    .where('left_at', '<', cutoff)
    .limit(DELETED_AT_ONCE)
    .execute();
  for (const { tenant_id, user_id } of rows) {
    await tx.deleteFrom('former_users').where('tenant_id', '=', tenant_id).where('user_id', '=', user_id).execute();
  }
  return rows.length;
}

/** Whether a host of any of these clusters has reported. */
export async function hasHosts(db: Reader, tenantId: string, clusters: readonly string[]): Promise<boolean> {
  const row = await db
    .selectFrom('endpoint_hosts')
    .select('host_id')
    .where('tenant_id', '=', tenantId)
    .where('cluster_id', 'in', clusters)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Tenants that have hosts, after one of them, in order. */
export async function tenantsWithHosts(db: Reader, after: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('endpoint_hosts')
    .select('tenant_id')
    .distinct()
    .where('tenant_id', '>', after)
    .orderBy('tenant_id')
    .limit(limit)
    .execute();
  return rows.map(({ tenant_id }) => tenant_id);
}

export async function findNotice(db: Reader, tenantId: string): Promise<NoticeRow | undefined> {
  return db.selectFrom('drift_notices').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst();
}

/** False if somebody announced since: then it is not to be announced again. */
export async function claimNotice(tx: Tx, tenantId: string, now: number, before: number): Promise<boolean> {
  const result = await tx
    .insertInto('drift_notices')
    .values({ tenant_id: tenantId, notified_at: now })
    .onConflict((c) =>
      c.column('tenant_id').doUpdateSet({ notified_at: now }).where('drift_notices.notified_at', '<=', before),
    )
    .executeTakeFirst();
  return Number(result.numInsertedOrUpdatedRows ?? 0n) === 1;
}
