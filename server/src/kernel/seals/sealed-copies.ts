import type { Reader, Tx } from '../storage/database.ts';
import { type SealsTable, SYSTEM_TENANT } from '../storage/tables.ts';

/** The root key, sealed under one seal. */
export type SealedCopy = Pick<SealsTable, 'reference' | 'sealed' | 'root_key_id' | 'sealed_at'>;

export function listCopies(db: Reader): Promise<SealsTable[]> {
  return db
    .selectFrom('seals')
    .selectAll()
    .where('tenant_id', '=', SYSTEM_TENANT)
    .orderBy('sealed_at')
    .orderBy('reference')
    .execute();
}

/** Replaces what was sealed under the same seal before. */
export async function saveCopy(tx: Tx, copy: SealedCopy): Promise<void> {
  const row = { ...copy, tenant_id: SYSTEM_TENANT, checked_at: copy.sealed_at, problem: null };
  const { reference, tenant_id: _, ...changed } = row;
  await tx
    .insertInto('seals')
    .values(row)
    .onConflict((conflict) => conflict.columns(['tenant_id', 'reference']).doUpdateSet(changed))
    .execute();
}

/** Copies of another root key open nothing any more, and are deleted with their seals that are not used. */
export async function replaceCopies(tx: Tx, copies: readonly SealedCopy[]): Promise<void> {
  await tx.deleteFrom('seals').where('tenant_id', '=', SYSTEM_TENANT).execute();
  for (const copy of copies) await saveCopy(tx, copy);
}

export async function deleteCopy(tx: Tx, reference: string): Promise<void> {
  await tx.deleteFrom('seals').where('tenant_id', '=', SYSTEM_TENANT).where('reference', '=', reference).execute();
}

/** `sealed_at` makes sure that the result is of the copy that was opened, and not of one that replaced it meanwhile. */
export async function saveCheck(
  tx: Tx,
  { reference, sealed_at }: Pick<SealedCopy, 'reference' | 'sealed_at'>,
  { checked_at, problem }: Pick<SealsTable, 'checked_at' | 'problem'>,
): Promise<void> {
  await tx
    .updateTable('seals')
    .set({ checked_at, problem })
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('reference', '=', reference)
    .where('sealed_at', '=', sealed_at)
    .execute();
}
