import { timestamp } from '../../../kernel/base/clock.ts';
import { FACTOR_TRUSTED_AFTER_MS } from '../../../kernel/request/second-factor.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { SecondFactorOfUser } from '../../users/index.ts';
import {
  deletePasskeysOf,
  findPasskey,
  type PasskeyRow,
  passkeysOf,
  passkeysOfUsers,
} from '../passkeys/passkey-store.ts';
import { deleteTotpOf, findTotp, replaceRecoveryCodes, type TotpRow, totpOfUsers } from './factor-store.ts';

export const TOTP_FACTOR = 'totp';
export const RECOVERY_FACTOR = 'recovery_code';

/** The second factor that was shown with a token, as the row of the token has it. */
export interface ShownFactor {
  /** `totp`, `recovery_code`, or the id of a passkey. Null in older rows, where it was an authenticator app. */
  factor: string | null;
  /** For a recovery code, which no longer exists: the time from which it opened fortress secrets. */
  factor_trusted_from: number | null;
}

/** What a person has confirmed besides a password. Recovery codes replace a factor and are none. */
export interface Factors {
  totp: (TotpRow & { confirmed_at: number }) | null;
  passkeys: PasskeyRow[];
}

export async function factorsOf(db: Reader, tenantId: string, userId: string): Promise<Factors> {
  const row = await findTotp(db, tenantId, userId);
  return { totp: confirmed(row), passkeys: await passkeysOf(db, tenantId, userId) };
}

export function confirmed(row: TotpRow | undefined): Factors['totp'] {
  if (row === undefined || row.confirmed_at === null) return null;
  return { ...row, confirmed_at: row.confirmed_at };
}

export function hasAny({ totp, passkeys }: Factors): boolean {
  return totp !== null || passkeys.length > 0;
}

export async function hasFactor(db: Reader, tenantId: string, userId: string): Promise<boolean> {
  return hasAny(await factorsOf(db, tenantId, userId));
}

export function totpTrustedFrom({ confirmed_at, trusted_at }: NonNullable<Factors['totp']>): number {
  return trusted_at ?? confirmed_at + FACTOR_TRUSTED_AFTER_MS;
}

export function passkeyTrustedFrom({ created_at, trusted_at }: PasskeyRow): number {
  return trusted_at ?? created_at + FACTOR_TRUSTED_AFTER_MS;
}

/** For each factor, when it opens fortress secrets. */
export function trustTimes({ totp, passkeys }: Factors): number[] {
  return [...(totp === null ? [] : [totpTrustedFrom(totp)]), ...passkeys.map(passkeyTrustedFrom)];
}

/** A factor that was shown and that the person still has. */
export interface CurrentFactor {
  /** The time from which it opens fortress secrets. It is that factor's own: one that was added today is not trusted because an older one is. */
  trustedFrom: number | null;
}

/** The factor that was shown; null if it was removed since, because then it no longer proves anything. `at` is when it was shown. */
export async function currentFactor(
  db: Reader,
  { tenantId, userId }: { tenantId: string; userId: string },
  { factor, factor_trusted_from }: ShownFactor,
  at: number,
): Promise<CurrentFactor | null> {
  if (factor === RECOVERY_FACTOR) {
    return (await hasFactor(db, tenantId, userId)) ? { trustedFrom: factor_trusted_from } : null;
  }
  if (factor === null || factor === TOTP_FACTOR) {
    const totp = confirmed(await findTotp(db, tenantId, userId));
    // One that was confirmed later is another app than the one that was shown.
    return totp === null || totp.confirmed_at > at ? null : { trustedFrom: totpTrustedFrom(totp) };
  }
  const passkey = await findPasskey(db, tenantId, factor);
  return passkey?.user_id === userId ? { trustedFrom: passkeyTrustedFrom(passkey) } : null;
}

/** When the newest of their factors was confirmed; null without one. */
export async function newestFactorAt(db: Reader, tenantId: string, userId: string): Promise<number | null> {
  const { totp, passkeys } = await factorsOf(db, tenantId, userId);
  const times = [...(totp === null ? [] : [totp.confirmed_at]), ...passkeys.map(({ created_at }) => created_at)];
  return times.length === 0 ? null : Math.max(...times);
}

/** Those of some users who have a confirmed factor. */
export async function usersWithFactor(db: Reader, tenantId: string, userIds: readonly string[]): Promise<Set<string>> {
  return new Set((await confirmedFactors(db, tenantId, userIds)).map(({ user_id }) => user_id));
}

interface ConfirmedFactor {
  user_id: string;
  kind: SecondFactorOfUser['kind'];
  addedAt: number;
  trustedFrom: number;
}

async function confirmedFactors(db: Reader, tenantId: string, userIds: readonly string[]): Promise<ConfirmedFactor[]> {
  const apps = await totpOfUsers(db, tenantId, userIds);
  const passkeys = await passkeysOfUsers(db, tenantId, userIds);
  return [
    ...apps.map((row) => {
      const { user_id, confirmed_at: addedAt } = row;
      return { user_id, kind: 'totp' as const, addedAt, trustedFrom: totpTrustedFrom(row) };
    }),
    ...passkeys.map((row) => {
      const { user_id, created_at: addedAt } = row;
      return { user_id, kind: 'passkey' as const, addedAt, trustedFrom: passkeyTrustedFrom(row) };
    }),
  ];
}

/** What each of some users has, as others may know it: of what kind and since when. */
export async function secondFactorsOf(
  db: Reader,
  tenantId: string,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, SecondFactorOfUser[]>> {
  const found = (await confirmedFactors(db, tenantId, userIds)).toSorted((a, b) => a.addedAt - b.addedAt);
  const byUser = new Map<string, SecondFactorOfUser[]>();
  for (const { user_id, kind, addedAt, trustedFrom } of found) {
    const shown = { kind, added_at: timestamp(addedAt), opens_fortress_from: timestamp(trustedFrom) };
    byUser.set(user_id, [...(byUser.get(user_id) ?? []), shown]);
  }
  return byUser;
}

export async function deleteFactorsOf(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await replaceRecoveryCodes(tx, tenantId, userId, { hashes: [], trustedFrom: null });
  await deleteTotpOf(tx, tenantId, userId);
  await deletePasskeysOf(tx, tenantId, userId);
}
