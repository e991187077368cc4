import { AuthenticatedTable } from '../../kernel/integrity/authenticated-table.ts';
import { FACTOR_TRUSTED_AFTER_MS } from '../../kernel/request/second-factor.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    user_totp: Authenticated<TotpRow>;
    user_recovery_codes: Authenticated<RecoveryCodeRow>;
  }
}

export interface TotpRow {
  tenant_id: string;
  user_id: string;
  sealed_secret: Uint8Array;
  /** Null until the enrolment is confirmed with a first code; until then it protects nothing. */
  confirmed_at: number | null;
  /** The time step of the last accepted code: that code and every earlier one are used up. */
  last_step: number;
  created_at: number;
  /** When an approval allowed it to open fortress secrets before its first day was over. */
  trusted_at: number | null;
}

export interface RecoveryCodeRow {
  tenant_id: string;
  user_id: string;
  code_hash: Uint8Array;
}

export const TOTP = new AuthenticatedTable<'user_totp', TotpRow>('user_totp', {
  key: ['user_id'],
  covered: ['sealed_secret', 'confirmed_at', 'last_step', 'created_at'],
  appended: ['trusted_at'],
});

export const RECOVERY_CODES = new AuthenticatedTable<'user_recovery_codes', RecoveryCodeRow>('user_recovery_codes', {
  key: ['user_id', 'code_hash'],
  covered: [],
});

export async function findTotp(db: Reader, tenantId: string, userId: string): Promise<TotpRow | undefined> {
  const query = db.selectFrom('user_totp').selectAll().where('tenant_id', '=', tenantId).where('user_id', '=', userId);
  return TOTP.checked(db, await query.executeTakeFirst());
}

/** Null if there is no confirmed factor. */
export async function confirmedSince(db: Reader, tenantId: string, userId: string): Promise<number | null> {
  return (await findTotp(db, tenantId, userId))?.confirmed_at ?? null;
}

/** Those of some users who have a confirmed factor. */
export async function usersWithFactor(db: Reader, tenantId: string, userIds: readonly string[]): Promise<Set<string>> {
  if (userIds.length === 0) return new Set();
  const rows = await db
    .selectFrom('user_totp')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', 'in', userIds)
    .where('confirmed_at', 'is not', null)
    .execute();
  return new Set((await TOTP.authenticOf(db, rows)).map(({ user_id }) => user_id));
}

/** The time from which it opens fortress secrets; null if there is no confirmed factor. */
export async function factorTrustedFrom(db: Reader, tenantId: string, userId: string): Promise<number | null> {
  const { confirmed_at = null, trusted_at = null } = (await findTotp(db, tenantId, userId)) ?? {};
  return confirmed_at === null ? null : (trusted_at ?? confirmed_at + FACTOR_TRUSTED_AFTER_MS);
}

export async function trustTotp(tx: Tx, row: TotpRow, now: number): Promise<void> {
  await TOTP.update(tx, row, { trusted_at: now });
}

/** Locked, so that an enrolment is not confirmed between this check and its removal. */
export async function lockTotp(tx: Tx, tenantId: string, userId: string): Promise<TotpRow | undefined> {
  const [row] = await TOTP.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
  return row;
}

/** Starts or restarts an enrolment; false if a confirmed one exists, which is never replaced. The caller has locked the user's row. */
export async function replacePending(tx: Tx, row: TotpRow): Promise<boolean> {
  const before = await lockTotp(tx, row.tenant_id, row.user_id);
  if (before === undefined) await TOTP.insert(tx, row);
  else if (before.confirmed_at === null) await TOTP.update(tx, before, row);
  return before === undefined || before.confirmed_at === null;
}

/** Confirms exactly the secret whose code was verified; false if it was replaced, confirmed or used meanwhile. */
export async function confirmTotp(tx: Tx, checked: TotpRow, step: number, confirmedAt: number): Promise<boolean> {
  const { tenant_id, user_id, sealed_secret } = checked;
  const changed = await TOTP.updateWhere(
    tx,
    (eb) =>
      eb.and([
        eb.and({ tenant_id, user_id, sealed_secret }),
        eb('confirmed_at', 'is', null),
        eb('last_step', '<', step),
      ]),
    { last_step: step, confirmed_at: confirmedAt },
  );
  return changed.length === 1;
}

/** Consumes a time step; false if it or a later one was used already. */
export async function spendStep(tx: Tx, tenantId: string, userId: string, step: number): Promise<boolean> {
  const changed = await TOTP.updateWhere(
    tx,
    (eb) => eb.and([eb.and({ tenant_id: tenantId, user_id: userId }), eb('last_step', '<', step)]),
    { last_step: step },
  );
  return changed.length === 1;
}

export async function replaceRecoveryCodes(
  tx: Tx,
  tenantId: string,
  userId: string,
  hashes: Uint8Array[],
): Promise<void> {
  await RECOVERY_CODES.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
  await RECOVERY_CODES.insert(tx, ...hashes.map((code_hash) => ({ tenant_id: tenantId, user_id: userId, code_hash })));
}

/** Consumes a recovery code; false if it does not exist or was used. */
export async function spendRecoveryCode(tx: Tx, tenantId: string, userId: string, hash: Uint8Array): Promise<boolean> {
  const code = { tenant_id: tenantId, user_id: userId, code_hash: hash };
  if ((await RECOVERY_CODES.lockedWhere(tx, (eb) => eb.and(code))).length === 0) return false;
  await RECOVERY_CODES.deleteWhere(tx, (eb) => eb.and(code));
  return true;
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

export async function deleteFactorsOf(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await replaceRecoveryCodes(tx, tenantId, userId, []);
  await TOTP.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
}
