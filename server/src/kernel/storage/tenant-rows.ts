import { AuthenticatedTable } from '../integrity/authenticated-table.ts';
import type { Reader, Tx } from './database.ts';
import type { TenantsTable } from './tables.ts';

export type TenantRow = TenantsTable;

export const TENANTS = new AuthenticatedTable<'tenants', TenantRow>('tenants', {
  key: [],
  covered: ['name', 'status', 'is_operator', 'plan', 'rate_overrides', 'created_at'],
  appended: ['require_mfa'],
  uncovered: { epoch: 'only counts up; a node that sees it go back resolves its callers anew' },
});

/** Reading a tenant is the kernel's, since every credential belongs to one; making and changing them is a feature. */
export async function findTenant(db: Reader, tenantId: string): Promise<TenantRow | undefined> {
  const query = db.selectFrom('tenants').selectAll().where('tenant_id', '=', tenantId);
  return TENANTS.checked(db, await query.executeTakeFirst());
}

export async function findTenantByName(db: Reader, name: string): Promise<TenantRow | undefined> {
  return TENANTS.checked(db, await db.selectFrom('tenants').selectAll().where('name', '=', name).executeTakeFirst());
}

/**
 * Held until the transaction ends: nobody suspends the tenant before. Asked after all else is locked, since whoever changes the tenant's row has
 * locked other rows before.
 */
export async function isHeldActive(tx: Tx, tenantId: string): Promise<boolean> {
  const query = tx.selectFrom('tenants').selectAll().where('tenant_id', '=', tenantId).forShare();
  return (await TENANTS.checked(tx, await query.executeTakeFirst()))?.status === 'active';
}

/** Only to say in whose log something is written: before rows are authenticated there is nothing to check it by. */
export function findUncheckedOperator(db: Reader): Promise<Pick<TenantRow, 'tenant_id'> | undefined> {
  return db.selectFrom('tenants').select('tenant_id').where('is_operator', '=', 1).executeTakeFirst();
}

/** The tenant of whoever runs the installation: made by the first start, so it is there or there is nothing at all. */
export async function findOperatorTenant(db: Reader): Promise<TenantRow | undefined> {
  return TENANTS.checked(
    db,
    await db.selectFrom('tenants').selectAll().where('is_operator', '=', 1).executeTakeFirst(),
  );
}
