import { randomBytes } from 'node:crypto';
import * as OTPAuth from 'otpauth';
import { timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import { CofferError, notFound } from '../../kernel/base/errors.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Difference } from '../../kernel/endpoint/approval.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { FACTOR_TRUSTED_AFTER_MS, proofRequired } from '../../kernel/request/second-factor.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { DELETED, type Deleted } from '../../kernel/wire/wire.ts';
import { lockChangeable } from '../users/index.ts';
import { lockUser } from '../users/storage/index.ts';
import type * as contract from './contract.ts';
import * as store from './factors/factor-store.ts';
import {
  deleteFactorsOf,
  type Factors,
  factorsOf,
  hasAny,
  passkeyTrustedFrom,
  RECOVERY_FACTOR,
  type ShownFactor,
  TOTP_FACTOR,
  totpTrustedFrom,
  trustTimes,
} from './factors/factors.ts';
import { hashOfCode, newRecoveryCodes } from './factors/recovery-codes.ts';
import { continuation, shownByAdding } from './first-factor.ts';
import { updatePasskey } from './passkeys/passkey-store.ts';
import {
  approveRemoval,
  lockFactors,
  type MfaPorts,
  requireFresh,
  requireFreshToAdd,
  requireProofToRemove,
  requireWayIn,
} from './removal.ts';

const PURPOSE = 'mfa';
const SECRET_BYTES = 20;
const PERIOD_SECONDS = 30;
const DIGITS = 6;
/** Codes of the previous and the next step are accepted too, because phone clocks differ. */
const WINDOW = 1;

export async function read(ctx: Context) {
  const { tenantId, principal, database } = ctx;
  const { totp, passkeys } = await factorsOf(database.read, tenantId, principal.id);
  return {
    totp: {
      enrolled: totp !== null,
      confirmed_at: timestampOrNull(totp?.confirmed_at ?? null),
      opens_fortress_from: timestampOrNull(totp === null ? null : totpTrustedFrom(totp)),
    },
    passkeys: passkeys.length,
    recovery_codes_left: await store.countRecoveryCodes(database.read, tenantId, principal.id),
  };
}

export async function enrol(ctx: Context, ports: MfaPorts) {
  ctx.access.requireUnrestricted();
  const { tenantId, principal, kernel } = ctx;
  const secret = new OTPAuth.Secret({ buffer: new Uint8Array(randomBytes(SECRET_BYTES)).buffer });
  const sealed = await sealSecret(kernel, tenantId, principal.id, Buffer.from(secret.buffer));
  return ctx.change(async (tx) => {
    // The user's row is locked, because a first enrolment has no row of its own yet. The second of two concurrent enrolments replaces the first.
    const user = await lockUser(tx, tenantId, principal.id);
    const factors = await lockFactors(tx, tenantId, principal.id);
    if (factors.totp !== null) throw alreadyEnrolled();
    await requireFreshToAdd(ctx, tx, { user, factors }, ports);
    const isPending = await store.replacePending(tx, {
      tenant_id: tenantId,
      user_id: principal.id,
      sealed_secret: sealed,
      confirmed_at: null,
      last_step: 0,
      created_at: ctx.now,
      trusted_at: null,
    });
    if (!isPending) throw alreadyEnrolled();
    return { secret: secret.base32, otpauth_uri: totpOf(secret, principal.name).toString() };
  });
}

export function sealSecret(
  kernel: Pick<Kernel, 'keyring'>,
  tenantId: string,
  userId: string,
  secret: Uint8Array,
): Promise<Buffer> {
  return kernel.keyring.seal(PURPOSE, { tenantId, ...place(userId) }, secret);
}

export async function confirm(ctx: Context, { otp, step_up }: Body<typeof contract.confirmTotp>, ports: MfaPorts) {
  ctx.access.requireUnrestricted();
  const { tenantId, principal, kernel } = ctx;
  const row = await store.findTotp(ctx.database.read, tenantId, principal.id);
  if (row === undefined) throw notFound('enrolment: start one with POST /auth/mfa/totp');
  const step = await matchingStep(kernel, row, otp, ctx.now);
  const codes = newRecoveryCodes();
  const proceed = await continuation(ctx, step_up, ports);
  return ctx.change(async (tx) => {
    const user = await lockUser(tx, tenantId, principal.id);
    const factors = await lockFactors(tx, tenantId, principal.id);
    if (factors.totp !== null) throw alreadyEnrolled();
    await requireFreshToAdd(ctx, tx, { user, factors }, ports);
    if (step === null || !(await store.confirmTotp(tx, row, step, ctx.now))) {
      throw new CofferError('LOGIN_DENIED', 'The code is wrong or was already used: enter the next one.');
    }
    await store.replaceRecoveryCodes(tx, tenantId, principal.id, {
      hashes: codes.map(hashOfCode),
      trustedFrom: ctx.now + FACTOR_TRUSTED_AFTER_MS,
    });
    // The rights of their tokens can depend on it.
    await raiseEpoch(tx, tenantId);
    const session = await shownByAdding(tx, proceed, { user, before: factors, factor: TOTP_FACTOR });
    return { confirmed_at: timestamp(ctx.now), session, recovery_codes: codes };
  });
}

export async function disable(ctx: Context): Promise<Deleted> {
  ctx.access.requireUnrestricted();
  const { tenantId, principal } = ctx;
  return ctx.change(async (tx) => {
    await lockUser(tx, tenantId, principal.id);
    const row = await store.lockTotp(tx, tenantId, principal.id);
    if (row === undefined) throw notFound('second factor');
    const factors = await lockFactors(tx, tenantId, principal.id);
    await store.deleteTotpOf(tx, tenantId, principal.id);
    await raiseEpoch(tx, tenantId);
    if (row.confirmed_at === null) return DELETED;
    const removed = { what: 'second factor', since: row.confirmed_at, key: TOTP_FACTOR };
    await approveRemoval(ctx, tx, principal.id, { removed, left: { ...factors, totp: null } });
    return DELETED;
  });
}

/** For users who lost every factor and their recovery codes. */
export async function reset(ctx: Context, userId: string, ports: MfaPorts): Promise<Deleted> {
  ctx.access.requireUnrestricted();
  ctx.record.describe({ user: userId });
  return ctx.change(async (tx) => {
    const user = await lockChangeable(ctx, tx, userId);
    const row = await store.lockTotp(tx, ctx.tenantId, userId);
    const factors = await lockFactors(tx, ctx.tenantId, userId);
    if (row === undefined && !hasAny(factors)) throw notFound('second factor');
    if (userId === ctx.principal.id) {
      if (hasAny(factors)) requireProofToRemove(ctx);
      // Anyone who resets somebody else can invite them as well.
      await requireWayIn(tx, user, { totp: null, passkeys: [] }, ports);
    }
    await deleteFactorsOf(tx, ctx.tenantId, userId);
    await raiseEpoch(tx, ctx.tenantId);
    // A factor that is enrolled while the removal waits for approval is a different one, and stays.
    if (hasAny(factors)) {
      const differences = each(factors, userId, ({ since }) => [timestamp(since), null]);
      await ctx.needsApproval(tx, { basis: basisOf(factors), differences, subject: userId });
    }
    return DELETED;
  });
}

/**
 * Ends the waiting time of new factors: a caller who could open fortress secrets vouches, and another admin approves, that they are the user's own.
 */
export async function trust(ctx: Context, userId: string) {
  ctx.access.requireUnrestricted();
  ctx.record.describe({ user: userId });
  return ctx.change(async (tx) => {
    await lockChangeable(ctx, tx, userId);
    const factors = await lockFactors(tx, ctx.tenantId, userId);
    if (!hasAny(factors)) throw notFound('second factor');
    if (!ctx.access.isFactorProven) throw proofRequired('Trusting a second factor');
    return trustAll(ctx, tx, userId, factors);
  });
}

/** The person asks for the same themselves. Nobody vouches for them yet, so it takes two admins, and never the person alone. */
export async function askTrust(ctx: Context) {
  ctx.access.requireUnrestricted();
  const { tenantId, principal } = ctx;
  return ctx.change(async (tx) => {
    await lockUser(tx, tenantId, principal.id);
    const factors = await lockFactors(tx, tenantId, principal.id);
    const waiting = trustTimes(factors).filter((from) => from > ctx.now);
    if (waiting.length === 0) {
      throw new CofferError(
        'NOT_FOUND',
        'No second factor of yours is less than a day old, so there is nothing to ask for.',
      );
    }
    requireFresh(ctx, true, 'Asking for trust in a new second factor');
    return trustAll(ctx, tx, principal.id, factors);
  });
}

async function trustAll(ctx: Context, tx: Tx, userId: string, factors: Factors) {
  const codes = await store.lockRecoveryCodes(tx, ctx.tenantId, userId);
  if (factors.totp !== null) await store.trustTotp(tx, factors.totp, ctx.now);
  for (const row of factors.passkeys) await updatePasskey(tx, row, { trusted_at: ctx.now });
  await store.trustRecoveryCodes(tx, ctx.tenantId, userId, ctx.now);
  await raiseEpoch(tx, ctx.tenantId);
  const ofFactors = each(factors, userId, ({ trustedFrom }) => [timestamp(trustedFrom), 'at once']).map(
    ({ what, ...change }) => ({ what: `when the ${what} opens fortress secrets`, ...change }),
  );
  const basis = { ...basisOf(factors), recovery_codes: digestOfCodes(codes) };
  await ctx.needsApproval(tx, { basis, differences: [...ofFactors, ...trustOfCodes(codes, userId, ctx.now)] });
  return { trusted_at: timestamp(ctx.now) };
}

/** Factors that an approver relies on: another one since then makes it another request. */
function basisOf({ totp, passkeys }: Factors) {
  return { confirmed_at: totp?.confirmed_at ?? null, passkeys: passkeys.map(({ passkey_id }) => passkey_id).join() };
}

/** Tells this set of codes from every other: codes that are made or used later are not those that an approver relies on. */
function digestOfCodes(codes: readonly store.RecoveryCodeRow[]): string | null {
  if (codes.length === 0) return null;
  return sha256(Buffer.concat(codes.map(({ code_hash }) => code_hash))).toString('base64url');
}

/** A line for the codes that do not open fortress secrets yet. All of them were made at once. */
function trustOfCodes(codes: readonly store.RecoveryCodeRow[], userId: string, now: number): Difference[] {
  const waiting = codes.flatMap(({ trusted_from }) =>
    trusted_from !== null && trusted_from > now ? trusted_from : [],
  );
  if (waiting.length === 0) return [];
  const what = `when the recovery codes of ${userId} that are left (${waiting.length}) open fortress secrets`;
  return [{ what, before: timestamp(Math.max(...waiting)), after: 'at once' }];
}

/** A line for each factor, for approvers. */
function each(
  { totp, passkeys }: Factors,
  userId: string,
  change: (factor: { since: number; trustedFrom: number }) => [before: string, after: string | null],
): Difference[] {
  const lines = [
    ...(totp === null ? [] : [{ what: 'second factor', since: totp.confirmed_at, trustedFrom: totpTrustedFrom(totp) }]),
    ...passkeys.map((row) => ({
      what: `passkey ${row.name}`,
      since: row.created_at,
      trustedFrom: passkeyTrustedFrom(row),
    })),
  ];
  return lines.map(({ what, ...factor }) => {
    const [before, after] = change(factor);
    return { what: `${what} of ${userId}`, before, after };
  });
}

function alreadyEnrolled(): CofferError {
  return new CofferError('ALREADY_EXISTS', 'You already have a second factor: remove it first.');
}

/** What a login needs to know about an account's second factor. */
export interface SecondFactor {
  isEnrolled: boolean;
  /** Consumes the code in the login's transaction and returns what it was; null if it is wrong or already used. */
  spend(tx: Tx): Promise<ShownFactor | null>;
}

/** Loads the factors and verifies the code before the transaction; `spend` then consumes it. */
export async function secondFactor(
  kernel: Pick<Kernel, 'clock' | 'database' | 'keyring'>,
  tenantId: string,
  userId: string,
  otp: string | undefined,
): Promise<SecondFactor> {
  const factors = await factorsOf(kernel.database.read, tenantId, userId);
  const isEnrolled = hasAny(factors);
  if (!isEnrolled || otp === undefined) return { isEnrolled, spend: async () => null };
  const { totp } = factors;
  const step = totp !== null && /^\d{6}$/.test(otp) ? await matchingStep(kernel, totp, otp, kernel.clock.now()) : null;
  const spend = async (tx: Tx): Promise<ShownFactor | null> => {
    if (step !== null) {
      const isSpent = await store.spendStep(tx, tenantId, userId, step);
      return isSpent ? { factor: TOTP_FACTOR, factor_trusted_from: null } : null;
    }
    const code = await store.spendRecoveryCode(tx, tenantId, userId, hashOfCode(otp));
    if (code === undefined) return null;
    const inherited = totp === null ? null : totpTrustedFrom(totp);
    return { factor: RECOVERY_FACTOR, factor_trusted_from: code.trusted_from ?? inherited };
  };
  return { isEnrolled, spend };
}

/** The time step this code belongs to, or null. */
async function matchingStep(
  kernel: Pick<Kernel, 'keyring'>,
  row: store.TotpRow,
  otp: string,
  now: number,
): Promise<number | null> {
  const at = { tenantId: row.tenant_id, ...place(row.user_id) };
  const bytes = await kernel.keyring.unseal(PURPOSE, at, row.sealed_secret);
  const secret = new OTPAuth.Secret({ buffer: new Uint8Array(bytes).buffer });
  const delta = totpOf(secret, '').validate({ token: otp, timestamp: now, window: WINDOW });
  return delta === null ? null : Math.floor(now / 1000 / PERIOD_SECONDS) + delta;
}

function totpOf(secret: OTPAuth.Secret, label: string): OTPAuth.TOTP {
  return new OTPAuth.TOTP({
    issuer: 'Coffer',
    label,
    algorithm: 'SHA1',
    digits: DIGITS,
    period: PERIOD_SECONDS,
    secret,
  });
}

function place(userId: string) {
  return { table: 'user_totp', row: userId };
}
