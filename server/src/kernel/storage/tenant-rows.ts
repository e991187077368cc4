import type { Reader } from './database.ts';
import type { TenantsTable } from './tables.ts';

export type TenantRow = TenantsTable;

/** Reading a tenant is the kernel's, since every credential belongs to one; making and changing them is a feature. */
export function findTenant(db: Reader, tenantId: string): Promise<TenantRow | undefined> {
  return db.selectFrom('tenants').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst();
}

export function findTenantByName(db: Reader, name: string): Promise<TenantRow | undefined> {
  return db.selectFrom('tenants').selectAll().where('name', '=', name).executeTakeFirst();
}

/** The tenant of whoever runs the installation: made by the first start, so it is there or there is nothing at all. */
export function findOperatorTenant(db: Reader): Promise<TenantRow | undefined> {
  return db.selectFrom('tenants').selectAll().where('is_operator', '=', 1).executeTakeFirst();
}
