import { AuthenticatedTable } from '../../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Authenticated } from '../../../kernel/storage/tables.ts';

export interface MfaTables {
  user_totp: Authenticated<TotpRow>;
  user_recovery_codes: Authenticated<RecoveryCodeRow>;
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
  /** The time from which it opens fortress secrets; null in older rows, which were made with the authenticator app. */
  trusted_from: number | null;
}

export const TOTP = new AuthenticatedTable<'user_totp', TotpRow>('user_totp', {
  key: ['user_id'],
  covered: ['sealed_secret', 'confirmed_at', 'last_step', 'created_at'],
  appended: ['trusted_at'],
});

export const RECOVERY_CODES = new AuthenticatedTable<'user_recovery_codes', RecoveryCodeRow>('user_recovery_codes', {
  key: ['user_id', 'code_hash'],
  covered: [],
  appended: ['trusted_from'],
});

export async function findTotp(db: Reader, tenantId: string, userId: string): Promise<TotpRow | undefined> {
  const query = db.selectFrom('user_totp').selectAll().where('tenant_id', '=', tenantId).where('user_id', '=', userId);
  return TOTP.checked(db, await query.executeTakeFirst());
}

/** The confirmed authenticator apps of some users. */
export async function totpOfUsers(
  db: Reader,
  tenantId: string,
  userIds: readonly string[],
): Promise<(TotpRow & { confirmed_at: number })[]> {
  if (userIds.length === 0) return [];
  const rows = await db
    .selectFrom('user_totp')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', 'in', userIds)
    .where('confirmed_at', 'is not', null)
    .execute();
  const authentic = await TOTP.authenticOf(db, rows);
  return authentic.flatMap((row) => (row.confirmed_at === null ? [] : [{ ...row, confirmed_at: row.confirmed_at }]));
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

/** Makes a new set of codes, which replaces the old one. */
export async function replaceRecoveryCodes(
  tx: Tx,
  tenantId: string,
  userId: string,
  { hashes, trustedFrom }: { hashes: Uint8Array[]; trustedFrom: number | null },
): Promise<void> {
  const whose = { tenant_id: tenantId, user_id: userId };
  await RECOVERY_CODES.deleteWhere(tx, (eb) => eb.and(whose));
  await RECOVERY_CODES.insert(tx, ...hashes.map((code_hash) => ({ ...whose, code_hash, trusted_from: trustedFrom })));
}

/** The codes that are left, in the order of their hashes. The caller has locked the person's row, so no new ones are made meanwhile. */
export async function lockRecoveryCodes(tx: Tx, tenantId: string, userId: string): Promise<RecoveryCodeRow[]> {
  const rows = await RECOVERY_CODES.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
  return rows.toSorted((a, b) => Buffer.compare(a.code_hash, b.code_hash));
}

/** Lets the codes that are left open fortress secrets from now on. */
export async function trustRecoveryCodes(tx: Tx, tenantId: string, userId: string, now: number): Promise<void> {
  await RECOVERY_CODES.updateWhere(
    tx,
    (eb) => eb.and([eb.and({ tenant_id: tenantId, user_id: userId }), eb('trusted_from', '>', now)]),
    { trusted_from: now },
  );
}

/** Consumes a recovery code and returns it; undefined if it does not exist or was used. */
export async function spendRecoveryCode(
  tx: Tx,
  tenantId: string,
  userId: string,
  hash: Uint8Array,
): Promise<RecoveryCodeRow | undefined> {
  const code = { tenant_id: tenantId, user_id: userId, code_hash: hash };
  const [row] = await RECOVERY_CODES.lockedWhere(tx, (eb) => eb.and(code));
  if (row !== undefined) await RECOVERY_CODES.deleteWhere(tx, (eb) => eb.and(code));
  return row;
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

export async function deleteTotpOf(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await TOTP.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
}
