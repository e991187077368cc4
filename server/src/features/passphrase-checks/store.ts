import { AuthenticatedTable } from '../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';

export interface PassphraseCheckTables {
  passphrase_checks: Authenticated<PassphraseCheckRow>;
}

export interface PassphraseCheckRow {
  tenant_id: string;
  vault_id: string;
  /** Counts the changes of the row, so that two clients do not overwrite each other's. */
  version: number;
  current_check: string;
  /** The check of the passphrase before, while values are sealed again under the new one. */
  former_check: string | null;
  updated_at: number;
}

export const PASSPHRASE_CHECKS = new AuthenticatedTable<'passphrase_checks', PassphraseCheckRow>('passphrase_checks', {
  key: ['vault_id'],
  covered: ['version', 'current_check', 'former_check', 'updated_at'],
});

export async function findCheck(
  db: Reader,
  tenantId: string,
  vaultId: string,
): Promise<PassphraseCheckRow | undefined> {
  const query = db
    .selectFrom('passphrase_checks')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('vault_id', '=', vaultId);
  return PASSPHRASE_CHECKS.checked(db, await query.executeTakeFirst());
}

export async function insertCheck(tx: Tx, row: PassphraseCheckRow): Promise<void> {
  await PASSPHRASE_CHECKS.insert(tx, row);
}

export async function updateCheck(
  tx: Tx,
  row: PassphraseCheckRow,
  change: Partial<PassphraseCheckRow>,
): Promise<PassphraseCheckRow> {
  return PASSPHRASE_CHECKS.update(tx, row, change);
}

export async function deleteCheck(tx: Tx, tenantId: string, vaultId: string): Promise<void> {
  await PASSPHRASE_CHECKS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, vault_id: vaultId }));
}
