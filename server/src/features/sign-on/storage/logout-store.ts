import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Cutoff } from '../../../kernel/time/cutoff.ts';
import type { ProviderSession } from '../../tokens/storage/index.ts';

export interface SignOnLogoutTables {
  sso_logouts: LogoutRow;
}

/** A logout token that was received. It counts once, and ends sign-ins of its subject that had not completed when it came. */
export interface LogoutRow extends Omit<ProviderSession, 'provider_subject'> {
  tenant_id: string;
  token_hash: Uint8Array;
  provider_subject: Uint8Array | null;
  received_at: number;
  expires_at: number;
}

/** False if the token was received before. */
export async function insertLogout(tx: Tx, row: LogoutRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('sso_logouts')
    .values(row)
    .onConflict((c) => c.columns(['tenant_id', 'token_hash']).doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

export function logoutsSince(db: Reader, tenantId: string, provider: string, since: number): Promise<LogoutRow[]> {
  return db
    .selectFrom('sso_logouts')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('provider', '=', provider)
    .where('received_at', '>=', since)
    .execute();
}

export async function deleteLogoutsBefore(tx: Tx, time: Cutoff): Promise<void> {
  await tx.deleteFrom('sso_logouts').where('expires_at', '<', time).execute();
}
