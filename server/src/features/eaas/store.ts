import { type Page, pageOf } from '../../kernel/storage/cursor.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    eaas_keys: KeyRow;
  }
}

/** A key people use by its name. Its material is in the keyring, one version for each rotation, under a purpose of its own. */
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

export async function insertKey(tx: Tx, row: KeyRow): Promise<void> {
  await tx.insertInto('eaas_keys').values(row).execute();
}

export function findKey(db: Reader, tenantId: string, name: string): Promise<KeyRow | undefined> {
  return db
    .selectFrom('eaas_keys')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('name', '=', name)
    .executeTakeFirst();
}

export function lockKey(tx: Tx, tenantId: string, name: string): Promise<KeyRow | undefined> {
  return tx
    .selectFrom('eaas_keys')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('name', '=', name)
    .forUpdate()
    .executeTakeFirst();
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
  await tx.updateTable('eaas_keys').set(change).where('tenant_id', '=', tenantId).where('name', '=', name).execute();
}

export async function deleteKey(tx: Tx, tenantId: string, name: string): Promise<void> {
  await tx.deleteFrom('eaas_keys').where('tenant_id', '=', tenantId).where('name', '=', name).execute();
}
