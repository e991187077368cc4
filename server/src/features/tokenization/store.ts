import type { Reader, Tx } from '../../kernel/storage/database.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    tokenized_values: TokenizedValueRow;
  }
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

export async function deleteExpired(tx: Tx, now: number): Promise<void> {
  await tx.deleteFrom('tokenized_values').where('expires_at', '<=', now).execute();
}

export async function purgeTokens(tx: Tx, tenantId: string, vaultId: string): Promise<void> {
  await tx.deleteFrom('tokenized_values').where('tenant_id', '=', tenantId).where('vault_id', '=', vaultId).execute();
}
