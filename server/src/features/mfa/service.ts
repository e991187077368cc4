import { randomBytes } from 'node:crypto';
import * as OTPAuth from 'otpauth';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { timestamp, timestampOrNull } from '../../kernel/platform/clock.ts';
import { CofferError, notFound } from '../../kernel/platform/errors.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Context } from '../../kernel/request/context.ts';
import { FACTOR_TRUSTED_AFTER_MS, proofRequired } from '../../kernel/request/second-factor.ts';
import { DELETED, type Deleted } from '../../kernel/request/wire.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { lockChangeable, lockUser } from '../users/index.ts';
import * as store from './store.ts';

const PURPOSE = 'mfa';
const SECRET_BYTES = 20;
const PERIOD_SECONDS = 30;
const DIGITS = 6;
/** Codes of the previous and the next step are accepted too, because phone clocks differ. */
const WINDOW = 1;
const RECOVERY_CODES = 10;
const RECOVERY_CODE_BYTES = 10;

export async function read(ctx: Context) {
  const { tenantId, principal, database } = ctx;
  const totp = await store.findTotp(database.read, tenantId, principal.id);
  const confirmedAt = totp?.confirmed_at ?? null;
  return {
    totp: { enrolled: confirmedAt !== null, confirmed_at: timestampOrNull(confirmedAt) },
    recovery_codes_left: await store.countRecoveryCodes(database.read, tenantId, principal.id),
  };
}

export async function enrol(ctx: Context) {
  ctx.access.requireUnrestricted();
  const { tenantId, principal, kernel } = ctx;
  const secret = new OTPAuth.Secret({ buffer: new Uint8Array(randomBytes(SECRET_BYTES)).buffer });
  const sealed = await sealSecret(kernel, tenantId, principal.id, Buffer.from(secret.buffer));
  return ctx.change(async (tx) => {
    // The user's row is locked, because a first enrolment has no row of its own yet. The second of two concurrent enrolments replaces the first.
    await lockUser(tx, tenantId, principal.id);
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

export function sealSecret(kernel: Kernel, tenantId: string, userId: string, secret: Uint8Array): Promise<Buffer> {
  return kernel.keyring.seal(PURPOSE, { tenantId, ...place(userId) }, secret);
}

export async function confirm(ctx: Context, otp: string) {
  ctx.access.requireUnrestricted();
  const { tenantId, principal, kernel } = ctx;
  const row = await store.findTotp(ctx.database.read, tenantId, principal.id);
  if (row === undefined) throw notFound('enrolment: start one with POST /auth/mfa/totp');
  const step = await matchingStep(kernel, row, otp, ctx.now);
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
  return ctx.change(async (tx) => {
    const current = await store.findTotp(tx, tenantId, principal.id);
    if (current !== undefined && current.confirmed_at !== null) throw alreadyEnrolled();
    if (step === null || !(await store.confirmTotp(tx, row, step, ctx.now))) {
      throw new CofferError('LOGIN_DENIED', 'The code is wrong or was already used: enter the next one.');
    }
    await store.replaceRecoveryCodes(tx, tenantId, principal.id, codes.map(hashOfCode));
    // The rights of their tokens can depend on it.
    await raiseEpoch(tx, tenantId);
    return { confirmed_at: timestamp(ctx.now), recovery_codes: codes };
  });
}

export async function disable(ctx: Context): Promise<Deleted> {
  ctx.access.requireUnrestricted();
  return ctx.change((tx) => takeAway(ctx, tx, ctx.principal.id));
}

/** For users who lost both their authenticator and their recovery codes. */
export async function reset(ctx: Context, userId: string): Promise<Deleted> {
  ctx.access.requireUnrestricted();
  ctx.record.describe({ user: userId });
  return ctx.change(async (tx) => {
    await lockChangeable(ctx, tx, userId);
    return takeAway(ctx, tx, userId);
  });
}

/**
 * Ends the waiting time of a new factor: a caller who could open fortress secrets vouches, and another admin approves, that the factor is the user's
 * own.
 */
export async function trust(ctx: Context, userId: string) {
  ctx.access.requireUnrestricted();
  ctx.record.describe({ user: userId });
  return ctx.change(async (tx) => {
    await lockChangeable(ctx, tx, userId);
    const row = await store.lockTotp(tx, ctx.tenantId, userId);
    if (row === undefined || row.confirmed_at === null) throw notFound('second factor');
    if (!ctx.access.isFactorProven) throw proofRequired('Trusting a second factor');
    await store.trustTotp(tx, row, ctx.now);
    await raiseEpoch(tx, ctx.tenantId);
    const before = timestamp(row.trusted_at ?? row.confirmed_at + FACTOR_TRUSTED_AFTER_MS);
    const differences = [
      { what: `when the second factor of ${userId} opens fortress secrets`, before, after: 'at once' },
    ];
    await ctx.needsApproval(tx, { basis: { confirmed_at: row.confirmed_at }, differences });
    return { trusted_at: timestamp(ctx.now) };
  });
}

/** A factor that is enrolled while the removal waits for approval is a different one, and stays. */
async function takeAway(ctx: Context, tx: Tx, userId: string): Promise<Deleted> {
  const row = await store.lockTotp(tx, ctx.tenantId, userId);
  if (row === undefined) throw notFound('second factor');
  await store.deleteFactorsOf(tx, ctx.tenantId, userId);
  await raiseEpoch(tx, ctx.tenantId);
  if (row.confirmed_at !== null) {
    const differences = [{ what: `second factor of ${userId}`, before: timestamp(row.confirmed_at), after: null }];
    await ctx.needsApproval(tx, { basis: { confirmed_at: row.confirmed_at }, differences, subject: userId });
  }
  return DELETED;
}

function alreadyEnrolled(): CofferError {
  return new CofferError('ALREADY_EXISTS', 'You already have a second factor: remove it first.');
}

/** What a login needs to know about an account's second factor. */
export interface SecondFactor {
  isEnrolled: boolean;
  /** Consumes the code in the login's transaction; false if it is wrong or already used. */
  spend(tx: Tx): Promise<boolean>;
}

/** Loads the factor and verifies the code before the transaction; `spend` then consumes it. */
export async function secondFactor(
  kernel: Kernel,
  tenantId: string,
  userId: string,
  otp: string | undefined,
): Promise<SecondFactor> {
  const row = await store.findTotp(kernel.database.read, tenantId, userId);
  if (row === undefined || row.confirmed_at === null) return { isEnrolled: false, spend: async () => true };
  if (otp === undefined) return { isEnrolled: true, spend: async () => false };
  const step = /^\d{6}$/.test(otp) ? await matchingStep(kernel, row, otp, kernel.clock.now()) : null;
  const spend = (tx: Tx) =>
    step === null
      ? store.spendRecoveryCode(tx, tenantId, userId, hashOfCode(otp))
      : store.spendStep(tx, tenantId, userId, step);
  return { isEnrolled: true, spend };
}

/** The time step this code belongs to, or null. */
async function matchingStep(kernel: Kernel, row: store.TotpRow, otp: string, now: number): Promise<number | null> {
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

/** 80 random bits, in groups that are readable on paper. */
function newRecoveryCode(): string {
  const hex = randomBytes(RECOVERY_CODE_BYTES).toString('hex');
  return (hex.match(/.{5}/g) ?? []).join('-');
}

/** The code is too random to guess, so a plain hash is enough. */
function hashOfCode(code: string): Buffer {
  return sha256(code.toLowerCase());
}

function place(userId: string) {
  return { table: 'user_totp', row: userId };
}
