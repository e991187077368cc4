import type { Reader, Tx } from '../storage/database.ts';
import type { TenantsTable } from '../storage/tables.ts';
import { AuthenticatedTable } from './authenticated-table.ts';

export type TenantRow = TenantsTable;

export const TENANTS = new AuthenticatedTable<'tenants', TenantRow>('tenants', {
  key: [],
  covered: ['name', 'status', 'is_operator', 'plan', 'rate_overrides', 'created_at'],
  appended: ['require_mfa', 'anomaly_thresholds', 'mail_notices', 'base_plan'],
  uncovered: { epoch: 'only counts up; a node that sees it go back resolves its callers anew' },
});

/** The kernel reads tenants, because every credential belongs to one. A feature creates and changes them. */
export async function findTenant(db: Reader, tenantId: string): Promise<TenantRow | undefined> {
  const query = db.selectFrom('tenants').selectAll().where('tenant_id', '=', tenantId);
  return TENANTS.checked(db, await query.executeTakeFirst());
}

export async function findTenantByName(db: Reader, name: string): Promise<TenantRow | undefined> {
  return TENANTS.checked(db, await db.selectFrom('tenants').selectAll().where('name', '=', name).executeTakeFirst());
}

/**
 * Locks the tenant's row, so that nobody can suspend the tenant before the transaction ends. It must be the last lock, because transactions that
 * change the tenant's row lock other rows first.
 */
export async function lockAndCheckActive(tx: Tx, tenantId: string): Promise<boolean> {
  const query = tx.selectFrom('tenants').selectAll().where('tenant_id', '=', tenantId).forShare();
  return (await TENANTS.checked(tx, await query.executeTakeFirst()))?.status === 'active';
}

/**
 * Whether there is a row of this tenant, for a transaction that may see one of another transaction of the same commit: its keys cannot be read yet,
 * so its MAC cannot be verified.
 */
export async function isTenantThere(tx: Tx, tenantId: string): Promise<boolean> {
  const query = tx.selectFrom('tenants').select('tenant_id').where('tenant_id', '=', tenantId);
  return (await query.executeTakeFirst()) !== undefined;
}

/** Makes concurrent transactions of a tenant wait for each other. */
export async function lockTenantRow(tx: Tx, tenantId: string): Promise<void> {
  await tx.selectFrom('tenants').select('tenant_id').where('tenant_id', '=', tenantId).forUpdate().execute();
}

/** The ids of tenants after one, in order. */
export async function tenantIdsAfter(db: Reader, after: string, limit: number): Promise<string[]> {
  const query = db.selectFrom('tenants').select('tenant_id').where('tenant_id', '>', after).orderBy('tenant_id');
  return (await query.limit(limit).execute()).map(({ tenant_id }) => tenant_id);
}

export function everyTenant(db: Reader): Promise<Pick<TenantRow, 'tenant_id' | 'plan' | 'base_plan'>[]> {
  return db.selectFrom('tenants').select(['tenant_id', 'plan', 'base_plan']).orderBy('tenant_id').execute();
}

/** Only used to choose the log for an entry: before rows are authenticated, there is no MAC to verify. */
export function findUncheckedOperator(db: Reader): Promise<Pick<TenantRow, 'tenant_id'> | undefined> {
  return db.selectFrom('tenants').select('tenant_id').where('is_operator', '=', 1).executeTakeFirst();
}

/** The operator's tenant. The first start creates it, so it is missing only in an empty database. */
export async function findOperatorTenant(db: Reader): Promise<TenantRow | undefined> {
  return TENANTS.checked(
    db,
    await db.selectFrom('tenants').selectAll().where('is_operator', '=', 1).executeTakeFirst(),
  );
}
