import { TENANTS, type TenantRow } from '../../kernel/integrity/tenant-rows.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { type Page, pageOf } from '../../kernel/wire/cursor.ts';

export async function insertTenant(tx: Tx, row: TenantRow): Promise<void> {
  await TENANTS.insert(tx, row);
}

export async function lockTenant(tx: Tx, tenantId: string): Promise<TenantRow | undefined> {
  const [row] = await TENANTS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId }));
  return row;
}

export async function listTenants(db: Reader, after: string, limit: number): Promise<Page<TenantRow>> {
  const rows = await db
    .selectFrom('tenants')
    .selectAll()
    .where('tenant_id', '>', after)
    .orderBy('tenant_id')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [row.tenant_id]);
}

export async function updateTenant(tx: Tx, tenantId: string, change: Partial<TenantRow>): Promise<void> {
  await TENANTS.updateWhere(tx, (eb) => eb.and({ tenant_id: tenantId }), change);
}
