import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { SECRETS, type SecretRow, SUMMARY, type SummaryRow } from './store.ts';

export type DeletedSummaryRow = SummaryRow & { deleted_at: number };

/** Finds the secret deleted at this path that has this number or id, or the most recently deleted one. */
export async function findDeleted(
  db: Reader,
  tenantId: string,
  vaultId: string,
  path: string,
  which: number | string | undefined,
): Promise<SecretRow | undefined> {
  return SECRETS.checked(db, await deletedByPath(db, tenantId, vaultId, path, which).executeTakeFirst());
}

export async function lockDeleted(
  tx: Tx,
  tenantId: string,
  vaultId: string,
  path: string,
  which: number | string | undefined,
): Promise<SecretRow | undefined> {
  return SECRETS.checked(tx, await deletedByPath(tx, tenantId, vaultId, path, which).forUpdate().executeTakeFirst());
}

function deletedByPath(
  db: Reader,
  tenantId: string,
  vaultId: string,
  path: string,
  which: number | string | undefined,
) {
  return db
    .selectFrom('secrets')
    .$if(typeof which === 'number', (query) => query.where('secret_no', '=', which as number))
    .$if(typeof which === 'string', (query) => query.where('secret_id', '=', which as string))
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('vault_id', '=', vaultId)
    .where('deleted_no', '>', 0)
    .where('path', '=', path)
    .orderBy('deleted_at', 'desc')
    .limit(1);
}

/** Deleted secrets ordered by number, which is the order of the primary key. */
export function deletedSummaries(
  db: Reader,
  tenantId: string,
  vaultId: string,
  after: number,
  limit: number,
): Promise<DeletedSummaryRow[]> {
  return db
    .selectFrom('secrets')
    .select([...SUMMARY, 'deleted_at'])
    .where('tenant_id', '=', tenantId)
    .where('vault_id', '=', vaultId)
    .where('deleted_no', '>', after)
    .orderBy('deleted_no')
    .limit(limit)
    .$narrowType<{ deleted_at: number }>()
    .execute();
}
