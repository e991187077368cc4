import type { ResourceAttributes } from '../../kernel/call.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { findVaultById } from '../vaults/index.ts';
import { attributesOf } from './access.ts';
import { findSecretById, findSecretByNo } from './store.ts';

const NUMBER_FORM = /^[1-9]\d{0,14}$/;

/** Where a secret is, or was when it was deleted. */
export interface PlacedSecret extends ResourceAttributes {
  secretId: string;
  vault: string;
  path: string;
  isDeleted: boolean;
}

/** A secret by either of its ids, wherever it is in the tenant. Whether the caller may know of it is not asked. */
export async function placedSecret(db: Reader, tenantId: string, text: string): Promise<PlacedSecret | undefined> {
  const row = NUMBER_FORM.test(text)
    ? await findSecretByNo(db, tenantId, Number(text))
    : await findSecretById(db, tenantId, text);
  if (row === undefined) return undefined;
  const vault = await findVaultById(db, tenantId, row.vault_id);
  if (vault === undefined) return undefined;
  const isDeleted = row.deleted_no !== 0 || vault.status === 'deleted';
  return { secretId: row.secret_id, vault: vault.name, path: row.path, isDeleted, ...attributesOf(row) };
}
