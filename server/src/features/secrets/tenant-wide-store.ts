import type { Reader } from '../../kernel/storage/database.ts';
import type { SecretRow } from './store.ts';

/** The secret's id, location and the attributes policies decide on. Thousands of these rows are compared at a time, so they hold no more. */
const LOCATED = ['secret_id', 'vault_id', 'path', 'environment', 'tags'] as const;
export type LocatedRow = Pick<SecretRow, (typeof LOCATED)[number]>;

/** Secrets of the whole tenant, ordered by path. */
export function secretsByPath(db: Reader, tenantId: string, after: string, limit: number): Promise<LocatedRow[]> {
  return everywhere(db, tenantId).where('path', '>', after).orderBy('path').limit(limit).execute();
}

export function everywhere(db: Reader, tenantId: string) {
  return db.selectFrom('secrets').select(LOCATED).where('tenant_id', '=', tenantId).where('deleted_no', '=', 0);
}

/** Names of the vaults that hold a fortress secret. Deleted secrets and vaults count too, because they can be restored. */
export async function fortressVaults(db: Reader, tenantId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('vaults')
    .select('name')
    .where('tenant_id', '=', tenantId)
    .where('vault_id', 'in', (eb) =>
      eb
        .selectFrom('secrets')
        .select('vault_id')
        .where('tenant_id', '=', tenantId)
        .where('protection', '=', 'fortress'),
    )
    .execute();
  return rows.map((row) => row.name);
}
