import type { Reader, Tx } from '../../kernel/storage/database.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    user_totp: TotpRow;
    user_recovery_codes: RecoveryCodeRow;
  }
}

export interface TotpRow {
  tenant_id: string;
  user_id: string;
  sealed_secret: Uint8Array;
  /** Null while the enrolment waits for its first code; such a row protects nothing yet. */
  confirmed_at: number | null;
  /** The time step of the last code accepted: that code and every earlier one are spent. */
  last_step: number;
  created_at: number;
}

export interface RecoveryCodeRow {
  tenant_id: string;
  user_id: string;
  code_hash: Uint8Array;
}

export function findTotp(db: Reader, tenantId: string, userId: string): Promise<TotpRow | undefined> {
  return db
    .selectFrom('user_totp')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .executeTakeFirst();
}

/** Null as long as there is none that protects anything. */
export async function confirmedSince(db: Reader, tenantId: string, userId: string): Promise<number | null> {
  return (await findTotp(db, tenantId, userId))?.confirmed_at ?? null;
}

/** Locked, so that an enrolment is not confirmed between being looked at and being taken away. */
export function lockTotp(tx: Tx, tenantId: string, userId: string): Promise<TotpRow | undefined> {
  return tx
    .selectFrom('user_totp')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .forUpdate()
    .executeTakeFirst();
}

/** Begins an enrolment anew; false if there is a confirmed one, which nothing replaces. In one statement, so that none slips between. */
export async function replacePending(tx: Tx, row: TotpRow): Promise<boolean> {
  const { tenant_id: _, user_id: __, ...change } = row;
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('user_totp')
    .values(row)
    .onConflict((c) =>
      c.columns(['tenant_id', 'user_id']).doUpdateSet(change).where('user_totp.confirmed_at', 'is', null),
    )
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

/** Confirms the very secret whose code was checked; false if it was replaced, confirmed or spent meanwhile. */
export async function confirmTotp(tx: Tx, checked: TotpRow, step: number, confirmedAt: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('user_totp')
    .set({ last_step: step, confirmed_at: confirmedAt })
    .where('tenant_id', '=', checked.tenant_id)
    .where('user_id', '=', checked.user_id)
    .where('sealed_secret', '=', checked.sealed_secret)
    .where('confirmed_at', 'is', null)
    .where('last_step', '<', step)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Spends a time step; false if it or a later one was spent already, by whichever request came first. */
export async function spendStep(tx: Tx, tenantId: string, userId: string, step: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('user_totp')
    .set({ last_step: step })
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .where('last_step', '<', step)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

export async function replaceRecoveryCodes(
  tx: Tx,
  tenantId: string,
  userId: string,
  hashes: Uint8Array[],
): Promise<void> {
  await tx.deleteFrom('user_recovery_codes').where('tenant_id', '=', tenantId).where('user_id', '=', userId).execute();
  const rows = hashes.map((code_hash) => ({ tenant_id: tenantId, user_id: userId, code_hash }));
  if (rows.length > 0) await tx.insertInto('user_recovery_codes').values(rows).execute();
}

/** Spends a recovery code; false if there is none such, or it was spent. */
export async function spendRecoveryCode(tx: Tx, tenantId: string, userId: string, hash: Uint8Array): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('user_recovery_codes')
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .where('code_hash', '=', hash)
    .executeTakeFirst();
  return numDeletedRows === 1n;
}

export async function countRecoveryCodes(db: Reader, tenantId: string, userId: string): Promise<number> {
  const row = await db
    .selectFrom('user_recovery_codes')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  return Number(row.n);
}

export async function forgetUser(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await replaceRecoveryCodes(tx, tenantId, userId, []);
  await tx.deleteFrom('user_totp').where('tenant_id', '=', tenantId).where('user_id', '=', userId).execute();
}
