import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { UnsealError } from '../../kernel/crypto/sealing.ts';
import { MINUTE_MS, SECOND_MS } from '../../kernel/platform/clock.ts';
import type { CofferError } from '../../kernel/platform/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Body, Query } from '../../kernel/request/declaration.ts';
import {
  findOperatorTenant,
  findTenant,
  findTenantByName,
  lockAndCheckActive,
} from '../../kernel/storage/tenant-rows.ts';
import { deviceSubjects, identify } from '../sessions/index.ts';
import { accountOf, denied, describePerson, requireRoomFor, settleAccount } from './accounts.ts';
import type * as contract from './contract.ts';
import { findDevice, lockDevice, updateDevice } from './device-store.ts';
import { guessed, isWaiting, sealedFor } from './devices.ts';
import { authorizationUrl, type Challenge, newChallenge, ProviderFailure, verifiedClaims } from './openid.ts';
import { asPage, codePage, confirmPage, donePage, onwardPage } from './pages.ts';
import { findProvider, lockProvider, type ProviderRow } from './store.ts';

const PURPOSE = 'sign-on';
const COOKIE = '__Host-coffer-sso';
const COOKIE_TTL_MS = 10 * MINUTE_MS;
const COOKIE_LENGTH_MAX = 4096;
const COOKIE_FLAGS = 'Path=/; HttpOnly; Secure; SameSite=Lax';

/** A sign-in at a provider that is in progress. It is sealed in a cookie of the browser that began it. */
interface PendingSignIn extends Challenge {
  tenant_id: string;
  provider: string;
  revision: number;
  /** The command line that gets the session. */
  device: string;
  user_code: string;
  expires_at: number;
}

export async function readSignIn(ctx: Context, provider: string, query: Query<typeof contract.readSignIn>) {
  asPage(ctx);
  return codePage(provider, query.tenant);
}

export async function begin(ctx: Context, name: string, body: Body<typeof contract.beginSignIn>): Promise<string> {
  ctx.record.setResource('session');
  const { read } = ctx.database;
  const tenant = body.tenant === undefined ? await findOperatorTenant(read) : await findTenantByName(read, body.tenant);
  identify(ctx, tenant, '', '');
  ctx.record.describe({ provider: name });
  const device = await guessed(ctx, deviceSubjects('', ctx.call.address), body.user_code);
  if (device === undefined) throw denied('no command line waits with this code');
  if (tenant?.status !== 'active') throw denied('no such tenant, or it is suspended');
  const provider = await usableProvider(ctx, tenant.tenant_id, name);
  const challenge = newChallenge();
  const url = await asDenied(authorizationUrl(ctx.kernel, provider, challenge));
  const pending: PendingSignIn = {
    ...challenge,
    tenant_id: tenant.tenant_id,
    provider: name,
    revision: provider.revision,
    device: Buffer.from(device.device_hash).toString('base64url'),
    user_code: body.user_code.toUpperCase(),
    expires_at: ctx.now + COOKIE_TTL_MS,
  };
  setCookie(ctx, await sealed(ctx, pending), COOKIE_TTL_MS / SECOND_MS);
  asPage(ctx);
  return ctx.change(async (tx) => {
    if (!isWaiting(await lockDevice(tx, device), ctx.now)) throw denied('the code was used concurrently');
    await updateDevice(tx, device, { state_hash: sha256(challenge.state) });
    return onwardPage(url);
  });
}

/** Where the provider sends the browser. Nothing is done yet: a link that somebody else made must not sign anybody in. */
export async function readCallback(ctx: Context, query: Query<typeof contract.readCallback>): Promise<string> {
  ctx.record.setResource('session');
  const pending = await pendingOf(ctx, query.state);
  identify(ctx, await findTenant(ctx.database.read, pending.tenant_id), '', '');
  ctx.record.describe({ provider: pending.provider });
  const { code, state, iss } = query;
  if (code === undefined || state === undefined) throw denied('the provider refused the sign-in');
  const device = await findDevice(ctx.database.read, deviceKey(ctx, pending));
  if (!isWaiting(device, ctx.now)) throw denied('the command line does not wait any more');
  asPage(ctx);
  return confirmPage({ userCode: pending.user_code, address: device.address }, { code, state, iss });
}

export async function finish(ctx: Context, body: Body<typeof contract.finishSignIn>): Promise<string> {
  ctx.record.setResource('session');
  const pending = await pendingOf(ctx, body.state);
  const tenant = await findTenant(ctx.database.read, pending.tenant_id);
  identify(ctx, tenant, '', '');
  ctx.record.describe({ provider: pending.provider });
  if (tenant?.status !== 'active') throw denied('the tenant is suspended');
  await claimState(ctx, pending);
  const provider = await usableProvider(ctx, tenant.tenant_id, pending.provider);
  if (provider.revision !== pending.revision) throw denied('the provider was changed meanwhile');
  const claims = await asDenied(verifiedClaims(ctx.kernel, provider, pending, body));
  const person = describePerson(provider, claims);
  ctx.record.describe({ issuer: person.issuer, subject: person.subject });
  const account = await accountOf(ctx, tenant, person);
  const { user } = account;
  identify(ctx, tenant, account.isNew ? '' : user.user_id, user.email);
  const key = deviceKey(ctx, pending);
  const device = await findDevice(ctx.database.read, key);
  if (!isWaiting(device, ctx.now)) throw denied('the command line does not wait any more');
  const decision = { approved: true, tenant_id: tenant.tenant_id, user_id: user.user_id } as const;
  const sealed_decision = await sealedFor(ctx.kernel, device, decision);
  setCookie(ctx, '', 0);
  asPage(ctx);
  return ctx.change(async (tx) => {
    if (account.isNew) await requireRoomFor(ctx, tx, tenant);
    // Looked at again under a lock: a provider that was changed while it was queried lets nobody in.
    const current = await lockProvider(tx, provider);
    if (current?.revision !== provider.revision) throw denied('the provider was changed meanwhile');
    if (!isWaiting(await lockDevice(tx, key), ctx.now)) throw denied('the code was used concurrently');
    await settleAccount(ctx, tx, tenant, account, person);
    await updateDevice(tx, key, { sealed_decision });
    if (!(await lockAndCheckActive(tx, tenant.tenant_id))) throw denied('the tenant was suspended meanwhile');
    ctx.record.describe({ user: user.user_id });
    return donePage();
  });
}

/** A state is used once: whoever replays it, or comes second, is refused before the provider is queried. */
async function claimState(ctx: Context, pending: PendingSignIn): Promise<void> {
  const key = deviceKey(ctx, pending);
  const isClaimed = await ctx.database.transaction(async (tx) => {
    const device = await lockDevice(tx, key);
    if (!isWaiting(device, ctx.now) || device.state_hash === null) return false;
    if (!sha256(pending.state).equals(device.state_hash)) return false;
    await updateDevice(tx, key, { state_hash: null });
    return true;
  });
  if (!isClaimed) throw denied('the state was used, or replaced by a later sign-in');
}

async function usableProvider(ctx: Context, tenantId: string, name: string): Promise<ProviderRow> {
  const provider = await findProvider(ctx.database.read, { tenant_id: tenantId, name });
  if (provider?.enabled !== 1) throw denied('no such provider, or it is disabled');
  return provider;
}

function deviceKey({ kernel }: Context, { device }: PendingSignIn) {
  return { tenant_id: kernel.operatorTenantId, device_hash: Buffer.from(device, 'base64url') };
}

async function asDenied<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof ProviderFailure ? denied(`provider: ${error.message}`) : error;
  }
}

/** The sign-in that this browser began, if it is the one that the state belongs to. */
async function pendingOf(ctx: Context, state: string | undefined): Promise<PendingSignIn> {
  const pending = await unsealed(ctx, cookieOf(ctx));
  if (pending.expires_at <= ctx.now) throw denied('the sign-in has expired');
  const isSame = state !== undefined && timingSafeEqual(sha256(state), sha256(pending.state));
  if (!isSame) throw denied('the state belongs to another sign-in');
  return pending;
}

function place({ kernel }: Context) {
  return { tenantId: kernel.operatorTenantId, table: 'sso_sign_in', row: 'cookie' };
}

async function sealed(ctx: Context, pending: PendingSignIn): Promise<string> {
  const bytes = Buffer.from(JSON.stringify(pending), 'utf8');
  return (await ctx.kernel.keyring.seal(PURPOSE, place(ctx), bytes)).toString('base64url');
}

async function unsealed(ctx: Context, text: string): Promise<PendingSignIn> {
  try {
    const bytes = await ctx.kernel.keyring.unseal(PURPOSE, place(ctx), Buffer.from(text, 'base64url'));
    return JSON.parse(bytes.toString('utf8')) as PendingSignIn;
  } catch (error) {
    throw error instanceof UnsealError ? noSignIn() : error;
  }
}

function noSignIn(): CofferError {
  return denied('this browser began no sign-in');
}

function cookieOf({ call }: Context): string {
  const pairs = (call.headers.cookie ?? '').split(';').map((pair) => pair.trim());
  const found = pairs.filter((pair) => pair.startsWith(`${COOKIE}=`)).map((pair) => pair.slice(COOKIE.length + 1));
  const [text] = found;
  if (text === undefined || text === '' || found.length > 1 || text.length > COOKIE_LENGTH_MAX) throw noSignIn();
  return text;
}

function setCookie(ctx: Context, value: string, maxAgeSeconds: number): void {
  ctx.setHeader('Set-Cookie', `${COOKIE}=${value}; ${COOKIE_FLAGS}; Max-Age=${maxAgeSeconds}`);
}
