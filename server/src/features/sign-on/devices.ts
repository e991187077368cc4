import { randomInt } from 'node:crypto';
import { MINUTE_MS, SECOND_MS, timestamp } from '../../kernel/base/clock.ts';
import { CofferError, notFound } from '../../kernel/base/errors.ts';
import { CredentialText } from '../../kernel/crypto/credential-text.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Body, Output } from '../../kernel/endpoint/declaration.ts';
import { findTenant, lockAndCheckActive } from '../../kernel/integrity/tenant-rows.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { hasFactor } from '../mfa/factors/index.ts';
import { requireShownSince } from '../mfa/index.ts';
import {
  beginTry,
  deviceSubjects,
  identify,
  issueSession,
  NO_FACTOR,
  signInReport,
  succeeded,
} from '../sessions/index.ts';
import { insertToken, isCurrentGeneration, lockToken, type ProviderSession } from '../tokens/storage/index.ts';
import { findUser, lockUser, type UserRow } from '../users/storage/index.ts';
import { requireIdentity } from './accounts.ts';
import type * as contract from './contract.ts';
import { wasEndedSince } from './sign-out.ts';
import * as store from './storage/device-store.ts';
import { lockProvider } from './storage/identity-store.ts';

const PURPOSE = 'sign-on';
const DEVICE_TTL_MS = 10 * MINUTE_MS;
const POLL_INTERVAL_MS = 5 * SECOND_MS;
const DEVICE_CODE = new CredentialText('cv_dev_');
/** Without vowels no code is a word (RFC 8628, 6.1). 20 letters to the power of 8 are 34 bits, and guesses are slowed down. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const LETTERS_COUNT = 8;

/** Who confirmed a command line, or that somebody refused it. */
type Decision = Approval | { approved: false };

/** It ends with what it relies on: see `refuseRevoked`. */
type Approval = {
  approved: true;
  tenant_id: string;
  user_id: string;
  /** The person's generation of sessions at the confirmation. */
  session_generation: number;
} & (
  | {
      by: 'sign_on';
      /** Where and when the person signed in. */
      begun: { provider: string; subject: string; session: string | null; at: number };
      /** The identity with which they signed in. */
      identity: string;
    }
  | { by: 'session'; approver_id: string }
);

export function confirmedBySignOn(
  user: UserRow,
  { provider, provider_subject, provider_session }: ProviderSession,
  identityHash: Uint8Array,
  at: number,
): Approval {
  const subject = Buffer.from(provider_subject).toString('base64url');
  const session = provider_session === null ? null : Buffer.from(provider_session).toString('base64url');
  const { tenant_id, user_id } = user;
  const session_generation = sessionGeneration(user);
  const begun = { provider, subject, session, at };
  const identity = Buffer.from(identityHash).toString('base64url');
  return { approved: true, tenant_id, user_id, session_generation, by: 'sign_on', begun, identity };
}

function providerSessionIn(approval: Approval): ProviderSession | null {
  if (approval.by !== 'sign_on') return null;
  const { begun } = approval;
  return {
    provider: begun.provider,
    provider_subject: Buffer.from(begun.subject, 'base64url'),
    provider_session: begun.session === null ? null : Buffer.from(begun.session, 'base64url'),
  };
}

export async function start(
  ctx: Context,
  body: Body<typeof contract.startDevice>,
): Promise<Output<typeof contract.startDevice>> {
  ctx.record.setResource('session');
  identify(ctx, undefined, '', '');
  const { row, deviceCode, userCode } = newDevice(ctx);
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

/** A row that waits for a sign-in, with the codes of which it has digests. */
export function newDevice({ kernel, call, now }: Context) {
  const deviceCode = DEVICE_CODE.create();
  const userCode = newUserCode();
  const row: store.DeviceRow = {
    tenant_id: kernel.operatorTenantId,
    device_hash: sha256(deviceCode),
    user_code_hash: userCodeHash(userCode),
    address: call.address,
    state_hash: null,
    sealed_decision: null,
    polled_at: 0,
    created_at: now,
    expires_at: now + DEVICE_TTL_MS,
  };
  return { row, deviceCode, userCode };
}

/** The code is not part of the address: anyone who opens a link must have seen the code on their own command line. */
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

/** Person and tenant are checked again: much may have happened since the confirmation. */
async function session(
  ctx: Context,
  row: store.DeviceRow,
  sealedDecision: Uint8Array,
  approval: Approval,
): Promise<Output<typeof contract.pollDevice>> {
  const { tenant_id, user_id } = approval;
  const provider = providerSessionIn(approval);
  const { read } = ctx.database;
  const [tenant, user] = [await findTenant(read, tenant_id), await findUser(read, tenant_id, user_id)];
  identify(ctx, tenant, user?.user_id ?? '', user?.email ?? '');
  if (tenant === undefined || user === undefined) throw denied('the user or tenant was deleted');
  const report = await signInReport(ctx, user);
  // Also if the person signed in at a provider: the poller need not be the person who signed in, so it proves no fresh sign-in.
  const method = 'device';
  const issued = await issueSession(ctx, user, { method, provider });
  ctx.record.describe({ token: issued.row.token_id });
  return ctx.change(async (tx) => {
    if (provider !== null && approval.by === 'sign_on') {
      await lockProvider(tx, { tenant_id, name: provider.provider });
      if (await wasEndedSince(tx, tenant_id, provider, approval.begun.at))
        throw denied('the provider ended the sign-in');
    }
    const locked = await store.lockDevice(tx, row);
    const isSame = locked?.sealed_decision != null && Buffer.from(sealedDecision).equals(locked.sealed_decision);
    if (!isSame) throw denied('the device code was used concurrently');
    await store.deleteDevice(tx, row);
    const current = await lockUser(tx, tenant_id, user_id);
    if (current?.status !== 'active') throw denied('the user is disabled');
    await refuseRevoked(tx, approval, current, ctx.now);
    if (approval.by === 'sign_on') await requireIdentity(tx, current, Buffer.from(approval.identity, 'base64url'));
    if (!(await lockAndCheckActive(tx, tenant_id))) throw denied('the tenant is suspended');
    const parent_id = approval.by === 'session' ? approval.approver_id : '';
    await insertToken(tx, { ...issued.row, parent_id }, current);
    await report(tx, current, { method, shown: NO_FACTOR });
    return { status: 'approved', token: issued.token, expires_at: timestamp(issued.row.expires_at) };
  });
}

/**
 * Whatever ended the sessions of the person since the confirmation, or the one that confirmed, also ended what it confirmed. The caller has locked the
 * person's row.
 */
async function refuseRevoked(tx: Tx, approval: Approval, user: UserRow, now: number): Promise<void> {
  if (approval.session_generation !== sessionGeneration(user)) throw denied('the sessions of the user were ended');
  if (approval.by !== 'session') return;
  const approver = await lockToken(tx, approval.tenant_id, approval.approver_id);
  const isOpen = approver?.revoked_at === null && approver.expires_at > now && isCurrentGeneration(approver, user);
  if (!isOpen) throw denied('the session that confirmed it has ended');
}

function sessionGeneration({ session_generation }: UserRow): number {
  return session_generation ?? 0;
}

export async function approve(ctx: Context, body: Body<typeof contract.approveDevice>): Promise<{ approved: boolean }> {
  const approved = body.approve ?? true;
  const { id: user_id, credentialId: approver_id } = ctx.principal;
  if (approved) refuseUnlessSignedIn(ctx);
  const subjects = deviceSubjects(user_id, ctx.call.address);
  const row = await guessed(ctx, subjects, body.user_code);
  if (row === undefined) throw notFound('device code');
  ctx.record.describe({ approved, address: row.address });
  if (approved) await requireProof(ctx, row);
  const user = await findUser(ctx.database.read, ctx.tenantId, user_id);
  if (user === undefined) throw denied('the user was deleted');
  const session_generation = sessionGeneration(user);
  const decision: Decision = approved
    ? { approved, tenant_id: ctx.tenantId, user_id, session_generation, by: 'session', approver_id }
    : { approved };
  const sealed_decision = await sealedFor(ctx.kernel, row, decision);
  return ctx.change(async (tx) => {
    if (!isWaiting(await store.lockDevice(tx, row), ctx.now)) throw notFound('device code');
    await store.updateDevice(tx, row, { sealed_decision, state_hash: null });
    return { approved };
  });
}

/** Otherwise a stolen session that a device code opened could go on for ever, each one confirming the next, and a removed passkey live on in one. */
function refuseUnlessSignedIn({ principal }: Context): void {
  if (principal.signedInAt !== null) return;
  throw new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    'This session was opened by a device code, or with a passkey that was removed since, so it cannot confirm another one: log in, and confirm it with that session.',
    { auditReason: 'the session was opened by a device code, or with a passkey that was removed since' },
  );
}

/** Anyone who stole a session, however fresh, cannot make one of their own with it: the person proves who they are for this very code. */
async function requireProof(ctx: Context, { created_at }: store.DeviceRow): Promise<void> {
  const isEnrolled = await hasFactor(ctx.database.read, ctx.tenantId, ctx.principal.id);
  requireShownSince(ctx, isEnrolled, created_at, 'A code was begun on a command line, and confirming it');
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
export function sealedFor(kernel: Pick<Kernel, 'keyring'>, row: store.DeviceRow, decision: Decision): Promise<Buffer> {
  return kernel.keyring.seal(PURPOSE, placeOf(row), Buffer.from(JSON.stringify(decision), 'utf8'));
}

async function unsealed(kernel: Pick<Kernel, 'keyring'>, row: store.DeviceRow, sealed: Uint8Array): Promise<Decision> {
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
