import { countRows } from '../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

export interface TokenizationTables {
  tokenized_values: TokenizedValueRow;
}

export interface TokenizedValueRow {
  tenant_id: string;
  vault_id: string;
  token_id: string;
  sealed: Uint8Array;
  created_at: number;
  expires_at: number | null;
}

export async function insertToken(tx: Tx, row: TokenizedValueRow): Promise<void> {
  await tx.insertInto('tokenized_values').values(row).execute();
}

export function findToken(
  db: Reader,
  tenantId: string,
  vaultId: string,
  tokenId: string,
): Promise<TokenizedValueRow | undefined> {
  return db
    .selectFrom('tokenized_values')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('vault_id', '=', vaultId)
    .where('token_id', '=', tokenId)
    .executeTakeFirst();
}

export function countTokens(db: Reader): Promise<number> {
  return countRows(db.selectFrom('tokenized_values'));
}

/** Deletes those that expired first. */
export async function deleteExpired(tx: Tx, time: Cutoff, rowsMax: number): Promise<void> {
  await tx
    .deleteFrom('tokenized_values')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('tenant_id', 'vault_id', 'token_id'),
        'in',
        selectFrom('tokenized_values')
          .select(['tenant_id', 'vault_id', 'token_id'])
          .where('expires_at', '<=', time)
          .orderBy('expires_at')
          .limit(rowsMax)
          .$asTuple('tenant_id', 'vault_id', 'token_id'),
      ),
    )
    .execute();
}

export async function purgeTokens(tx: Tx, tenantId: string, vaultId: string): Promise<void> {
  await tx.deleteFrom('tokenized_values').where('tenant_id', '=', tenantId).where('vault_id', '=', vaultId).execute();
}
