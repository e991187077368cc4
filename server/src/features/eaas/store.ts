import { AuthenticatedTable } from '../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';
import { type Page, pageOf } from '../../kernel/wire/cursor.ts';

export interface EaasTables {
  eaas_keys: Authenticated<KeyRow>;
}

/** A key that is used by name. Its material is in the keyring under a purpose of its own, with one version per rotation. */
export interface KeyRow {
  tenant_id: string;
  name: string;
  key_id: string;
  description: string;
  delete_protection: number;
  latest_version: number;
  /** The approval its deletion waits for. */
  approval_id: string | null;
  created_by: string;
  created_at: number;
  updated_at: number;
  rotated_at: number | null;
}

export const EAAS_KEYS = new AuthenticatedTable<'eaas_keys', KeyRow>('eaas_keys', {
  key: ['name'],
  covered: [
    'key_id',
    'description',
    'delete_protection',
    'latest_version',
    'approval_id',
    'created_by',
    'created_at',
    'updated_at',
    'rotated_at',
  ],
});

export async function insertKey(tx: Tx, row: KeyRow): Promise<void> {
  await EAAS_KEYS.insert(tx, row);
}

export async function findKey(db: Reader, tenantId: string, name: string): Promise<KeyRow | undefined> {
  const query = db.selectFrom('eaas_keys').selectAll().where('tenant_id', '=', tenantId).where('name', '=', name);
  return EAAS_KEYS.checked(db, await query.executeTakeFirst());
}

export async function lockKey(tx: Tx, tenantId: string, name: string): Promise<KeyRow | undefined> {
  const [row] = await EAAS_KEYS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, name }));
  return row;
}

export async function listKeys(db: Reader, tenantId: string, after: string, limit: number): Promise<Page<KeyRow>> {
  const rows = await db
    .selectFrom('eaas_keys')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('name', '>', after)
    .orderBy('name')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [row.name]);
}

export async function updateKey(
  tx: Tx,
  tenantId: string,
  name: string,
  change: Partial<Omit<KeyRow, 'tenant_id' | 'name' | 'key_id'>>,
): Promise<void> {
  await EAAS_KEYS.updateWhere(tx, (eb) => eb.and({ tenant_id: tenantId, name }), change);
}

export async function deleteKey(tx: Tx, tenantId: string, name: string): Promise<void> {
  await EAAS_KEYS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, name }));
}
