import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import { storedScores } from '../storage/secret-store.ts';
import { SECRETS, type SecretRow, type StoredScores, SUMMARY, type SummaryRow } from '../storage/tables.ts';

export type DeletedSummaryRow = SummaryRow & { deleted_at: number };

/** The location of a secret when it was deleted. */
export interface DeletedLocation {
  tenantId: string;
  vaultId: string;
  path: string;
}
/** The number or id of one of the secrets deleted at a path; undefined selects the most recently deleted one. */
type SecretSelector = number | string | undefined;

export async function findDeleted(
  db: Reader,
  location: DeletedLocation,
  which: SecretSelector,
): Promise<(SecretRow & StoredScores) | undefined> {
  return SECRETS.checked(db, await deletedByPath(db, location, which).select(storedScores).executeTakeFirst());
}

export async function lockDeleted(
  tx: Tx,
  location: DeletedLocation,
  which: SecretSelector,
): Promise<SecretRow | undefined> {
  return SECRETS.checked(tx, await deletedByPath(tx, location, which).forUpdate().executeTakeFirst());
}

function deletedByPath(db: Reader, { tenantId, vaultId, path }: DeletedLocation, which: SecretSelector) {
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

/** Deleted secrets ordered by `deleted_no`, as the primary key is. */
export function deletedSummaries(
  db: Reader,
  { tenant_id, vault_id }: Pick<SecretRow, 'tenant_id' | 'vault_id'>,
  after: number,
  limit: number,
): Promise<DeletedSummaryRow[]> {
  return db
    .selectFrom('secrets')
    .select([...SUMMARY, 'deleted_at'])
    .where('tenant_id', '=', tenant_id)
    .where('vault_id', '=', vault_id)
    .where('deleted_no', '>', after)
    .orderBy('deleted_no')
    .limit(limit)
    .$narrowType<{ deleted_at: number }>()
    .execute();
}
