import { randomInt } from 'node:crypto';
import { CredentialText } from '../../kernel/crypto/credential-text.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { MINUTE_MS, SECOND_MS, timestamp } from '../../kernel/platform/clock.ts';
import { CofferError, notFound } from '../../kernel/platform/errors.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Body, Output } from '../../kernel/request/declaration.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { findTenant, lockAndCheckActive } from '../../kernel/storage/tenant-rows.ts';
import { beginTry, deviceSubjects, identify, issueSession, succeeded } from '../sessions/index.ts';
import { insertToken } from '../tokens/index.ts';
import { findUser, lockUser } from '../users/index.ts';
import type * as contract from './contract.ts';
import * as store from './device-store.ts';

const PURPOSE = 'sign-on';
const DEVICE_TTL_MS = 10 * MINUTE_MS;
const POLL_INTERVAL_MS = 5 * SECOND_MS;
const DEVICE_CODE = new CredentialText('cv_dev_');
/** Without vowels no code is a word (RFC 8628, 6.1). 20 letters to the power of 8 are 34 bits, and guesses are slowed down. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const LETTERS_COUNT = 8;

/** Who confirmed a command line, or that somebody refused it. */
type Decision = { approved: true; tenant_id: string; user_id: string } | { approved: false };

export async function start(
  ctx: Context,
  body: Body<typeof contract.startDevice>,
): Promise<Output<typeof contract.startDevice>> {
  ctx.record.setResource('session');
  identify(ctx, undefined, '', '');
  const deviceCode = DEVICE_CODE.create();
  const userCode = newUserCode();
  const row: store.DeviceRow = {
    tenant_id: ctx.kernel.operatorTenantId,
    device_hash: sha256(deviceCode),
    user_code_hash: userCodeHash(userCode),
    address: ctx.call.address,
    state_hash: null,
    sealed_decision: null,
    polled_at: 0,
    created_at: ctx.now,
    expires_at: ctx.now + DEVICE_TTL_MS,
  };
  return ctx.change(async (tx) => {
    await store.insertDevice(tx, row);
    return {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: verificationUri(ctx, body),
      expires_in: DEVICE_TTL_MS / SECOND_MS,
      interval: POLL_INTERVAL_MS / SECOND_MS,
    };
  });
}

/** The code is not part of the address: whoever opens a link must have seen the code on their own command line. */
function verificationUri({ kernel }: Context, { provider, tenant }: Body<typeof contract.startDevice>): string | null {
  if (provider === undefined) return null;
  const query = tenant === undefined ? '' : `?tenant=${encodeURIComponent(tenant)}`;
  return `${kernel.addresses.baseUrl}/auth/sso/${encodeURIComponent(provider)}${query}`;
}

function newUserCode(): string {
  const letters = Array.from({ length: LETTERS_COUNT }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  return `${letters.slice(0, LETTERS_COUNT / 2)}-${letters.slice(LETTERS_COUNT / 2)}`;
}

/** People type it in any case, with or without the hyphen. */
function userCodeHash(typed: string): Buffer {
  return sha256(`user code ${typed.toUpperCase().replace(/[\s-]/g, '')}`);
}

export async function poll(
  ctx: Context,
  body: Body<typeof contract.pollDevice>,
): Promise<Output<typeof contract.pollDevice>> {
  ctx.record.setResource('session');
  identify(ctx, undefined, '', '');
  const hash = sha256(body.device_code);
  const key = { tenant_id: ctx.kernel.operatorTenantId, device_hash: hash };
  const row = DEVICE_CODE.matches(body.device_code) ? await store.findDevice(ctx.database.read, key) : undefined;
  if (row === undefined) throw denied('no such device code');
  if (row.expires_at <= ctx.now) throw denied('the device code has expired');
  const { sealed_decision } = row;
  if (sealed_decision === null) {
    await ctx.database.transaction((tx) => countPoll(tx, key, ctx.now));
    return { status: 'pending' };
  }
  const decision = await unsealed(ctx.kernel, row, sealed_decision);
  if (!decision.approved) throw denied('the person refused it');
  return session(ctx, row, sealed_decision, decision);
}

async function countPoll(tx: Tx, key: Parameters<typeof store.lockDevice>[1], now: number): Promise<void> {
  const row = await store.lockDevice(tx, key);
  if (row === undefined) throw denied('the device code was used concurrently');
  const waitMs = row.polled_at + POLL_INTERVAL_MS - now;
  if (waitMs > 0) {
    const retryAfterSeconds = Math.ceil(waitMs / SECOND_MS);
    throw new CofferError('RATE_LIMIT_EXCEEDED', `Poll every ${POLL_INTERVAL_MS / SECOND_MS} s.`, {
      retryAfterSeconds,
      auditReason: 'polled too early',
    });
  }
  await store.updateDevice(tx, key, { polled_at: now });
}

/** Person and tenant are looked at again: much may have happened since the confirmation. */
async function session(
  ctx: Context,
  row: store.DeviceRow,
  sealedDecision: Uint8Array,
  { tenant_id, user_id }: Extract<Decision, { approved: true }>,
): Promise<Output<typeof contract.pollDevice>> {
  const { read } = ctx.database;
  const [tenant, user] = [await findTenant(read, tenant_id), await findUser(read, tenant_id, user_id)];
  identify(ctx, tenant, user?.user_id ?? '', user?.email ?? '');
  if (tenant === undefined || user === undefined) throw denied('the user or tenant was deleted');
  const issued = await issueSession(ctx, user, false);
  ctx.record.describe({ token: issued.row.token_id });
  return ctx.change(async (tx) => {
    const locked = await store.lockDevice(tx, row);
    const isSame = locked?.sealed_decision != null && Buffer.from(sealedDecision).equals(locked.sealed_decision);
    if (!isSame) throw denied('the device code was used concurrently');
    await store.deleteDevice(tx, row);
    const current = await lockUser(tx, tenant_id, user_id);
    if (current?.status !== 'active') throw denied('the user is disabled');
    if (!(await lockAndCheckActive(tx, tenant_id))) throw denied('the tenant is suspended');
    await insertToken(tx, issued.row, current);
    return { status: 'approved', token: issued.token, expires_at: timestamp(issued.row.expires_at) };
  });
}

export async function approve(ctx: Context, body: Body<typeof contract.approveDevice>): Promise<{ approved: boolean }> {
  const approved = body.approve ?? true;
  const { id: user_id } = ctx.principal;
  const subjects = deviceSubjects(user_id, ctx.call.address);
  const row = await guessed(ctx, subjects, body.user_code);
  if (row === undefined) throw notFound('device code');
  ctx.record.describe({ approved, address: row.address });
  const decision: Decision = approved ? { approved, tenant_id: ctx.tenantId, user_id } : { approved };
  const sealed_decision = await sealedFor(ctx.kernel, row, decision);
  return ctx.change(async (tx) => {
    if (!isWaiting(await store.lockDevice(tx, row), ctx.now)) throw notFound('device code');
    await store.updateDevice(tx, row, { sealed_decision, state_hash: null });
    return { approved };
  });
}

/** Finds a command line that still waits. Every attempt counts as wrong until the code turns out to be right. */
export async function guessed(
  ctx: Context,
  subjects: ReturnType<typeof deviceSubjects>,
  typed: string,
): Promise<store.DeviceRow | undefined> {
  await beginTry(ctx.database, subjects, ctx.now, 'wrong codes');
  const row = await store.findDeviceByUserCode(ctx.kernel.database.read, userCodeHash(typed));
  if (!isWaiting(row, ctx.now)) return undefined;
  await ctx.database.transaction((tx) => succeeded(tx, subjects));
  return row;
}

export function isWaiting(row: store.DeviceRow | undefined, now: number): row is store.DeviceRow {
  return row !== undefined && row.sealed_decision === null && row.expires_at > now;
}

/** Call it before a transaction. */
export function sealedFor(kernel: Kernel, row: store.DeviceRow, decision: Decision): Promise<Buffer> {
  return kernel.keyring.seal(PURPOSE, placeOf(row), Buffer.from(JSON.stringify(decision), 'utf8'));
}

async function unsealed(kernel: Kernel, row: store.DeviceRow, sealed: Uint8Array): Promise<Decision> {
  return JSON.parse((await kernel.keyring.unseal(PURPOSE, placeOf(row), sealed)).toString('utf8')) as Decision;
}

function placeOf({ tenant_id, device_hash }: store.DeviceRow) {
  return { tenantId: tenant_id, table: 'device_codes', row: Buffer.from(device_hash).toString('base64url') };
}

function denied(auditReason: string): CofferError {
  return new CofferError(
    'LOGIN_DENIED',
    'The device code is invalid: it was refused, was used or has expired. Start the login again.',
    { auditReason },
  );
}
