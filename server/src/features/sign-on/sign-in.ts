import type { Body, Output, Params, Query } from '../../kernel/endpoint/declaration.ts';
import {
  findOperatorTenant,
  findTenant,
  findTenantByName,
  lockAndCheckActive,
} from '../../kernel/integrity/tenant-rows.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { deviceSubjects, identify, issueSession, NO_FACTOR, sessionAnswer, signInReport } from '../sessions/index.ts';
import { insertToken } from '../tokens/storage/index.ts';
import { lockUser } from '../users/storage/index.ts';
import { accountOf, denied, describePerson, requireRoomFor, settleAccount, takeAwayRole } from './accounts.ts';
import type * as contract from './contract.ts';
import { confirmedBySignOn, guessed, sealedFor } from './devices.ts';
import type { SignOnParts } from './links.ts';
import { asPage, codePage, confirmPage, donePage, onwardPage, returnPage } from './pages.ts';
import { PendingSignIn } from './pending-sign-in.ts';
import { callbackPath, redirectUri } from './providers.ts';
import { deleteDevice, updateDevice } from './storage/device-store.ts';
import { findIdentity } from './storage/identity-store.ts';

export type SignInPorts = Pick<SignOnParts, 'provisionedGroups'>;

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
  const goal = { kind: 'command_line', device, userCode: body.user_code.toUpperCase() } as const;
  const { url, store } = await PendingSignIn.begin(ctx, tenant, name, goal);
  asPage(ctx);
  return ctx.change(async (tx) => {
    await store(tx);
    return onwardPage(url);
  });
}

/** Begins a sign-in for this browser, which gets the session itself. */
export async function beginHere(
  ctx: Context,
  name: string,
  body: Body<typeof contract.beginBrowserSignIn>,
): Promise<Output<typeof contract.beginBrowserSignIn>> {
  ctx.record.setResource('session');
  const { read } = ctx.database;
  const tenant = body.tenant === undefined ? await findOperatorTenant(read) : await findTenantByName(read, body.tenant);
  identify(ctx, tenant, '', '');
  ctx.record.describe({ provider: name });
  const { url, flowKey, store } = await PendingSignIn.begin(ctx, tenant, name, { kind: 'browser' });
  return ctx.change(async (tx) => {
    await store(tx);
    return { url: url.href, flow_key: flowKey };
  });
}

/** Where the provider sends the browser. Nothing is done yet: a link that somebody else made must not sign anybody in. */
export async function readCallback(
  ctx: Context,
  params: Params<typeof contract.readCallback>,
  query: Query<typeof contract.readCallback>,
): Promise<string> {
  ctx.record.setResource('session');
  const redirect_uri = addressOf(ctx, params);
  const pending = await PendingSignIn.of(ctx, query.state);
  identify(ctx, await findTenant(ctx.database.read, pending.tenantId), '', '');
  ctx.record.describe({ provider: pending.providerKey.name });
  pending.requireRedirectUri(redirect_uri);
  const { code, state, iss } = query;
  if (code === undefined || state === undefined) throw denied('the provider refused the sign-in');
  const { address } = await pending.requireDevice();
  asPage(ctx);
  if (pending.goal === 'link') return returnPage('linked', { code, state, iss, redirect_uri });
  if (pending.userCode === null) return returnPage('signed-on', { code, state, iss, redirect_uri });
  const callback = callbackPath(pending.providerKey);
  return confirmPage(address, { code, state, iss }, callback);
}

/** The person who signed in at the provider, whose account is found but not changed yet. A state is used up by it. */
async function finishSignIn(
  ctx: Context,
  body: Omit<Body<typeof contract.finishBrowserSignIn>, 'flow_key'>,
  ports: SignInPorts,
  { goal, requireSameFlow }: { goal: 'browser' | 'command_line'; requireSameFlow: (pending: PendingSignIn) => void },
) {
  ctx.record.setResource('session');
  const pending = await PendingSignIn.of(ctx, body.state);
  if (pending.goal !== goal) throw denied('the sign-in was begun for something else');
  requireSameFlow(pending);
  const tenant = await findTenant(ctx.database.read, pending.tenantId);
  identify(ctx, tenant, '', '');
  ctx.record.describe({ provider: pending.providerKey.name });
  pending.requireRedirectUri(body.redirect_uri);
  if (tenant?.status !== 'active') throw denied('the tenant is suspended');
  const signedIn = await pending.finish(body);
  const { provider, claims } = signedIn;
  const { identity_hash } = signedIn.identity;
  const identity = await findIdentity(ctx.database.read, tenant.tenant_id, identity_hash);
  const provisioned = identity === undefined ? [] : await ports.provisionedGroups(ctx.database.read, identity);
  const person = describePerson(provider, claims, provisioned);
  ctx.record.describe({ issuer: person.issuer, subject: person.subject });
  if (person.role === null && identity !== undefined) await takeAwayRole(ctx, tenant, identity.user_id, person);
  const account = await accountOf(ctx, tenant, person);
  const { user } = account;
  identify(ctx, tenant, account.isNew ? '' : user.user_id, user.email);
  const device = await pending.requireDevice();
  pending.dropCookie();
  /** Creates or updates the account, in the transaction that also lets the person in. */
  const settle = async (tx: Tx) => {
    if (account.isNew) await requireRoomFor(ctx, tx, tenant);
    await pending.lock(tx, signedIn);
    await settleAccount(ctx, tx, tenant, { account, person });
    if (!(await lockAndCheckActive(tx, tenant.tenant_id))) throw denied('the tenant was suspended meanwhile');
    ctx.record.describe({ user: user.user_id });
  };
  return { user, device, session: signedIn.session, identityHash: identity_hash, settle };
}

/** For a command line, which polls for its session. */
export async function finish(
  ctx: Context,
  params: Params<typeof contract.finishSignIn>,
  body: Body<typeof contract.finishSignIn>,
  ports: SignInPorts,
): Promise<string> {
  const { user_code, ...sent } = body;
  const answer = { ...sent, redirect_uri: addressOf(ctx, params) };
  const { user, device, session, identityHash, settle } = await finishSignIn(ctx, answer, ports, {
    goal: 'command_line',
    requireSameFlow: (pending) => pending.requireUserCode(user_code),
  });
  const decision = confirmedBySignOn(user, session, identityHash, ctx.now);
  const sealed_decision = await sealedFor(ctx.kernel, device, decision);
  asPage(ctx);
  return ctx.change(async (tx) => {
    await settle(tx);
    await updateDevice(tx, device, { sealed_decision });
    return donePage();
  });
}

/** For the browser itself, which gets the session at once. */
export async function finishHere(ctx: Context, body: Body<typeof contract.finishBrowserSignIn>, ports: SignInPorts) {
  const { flow_key, ...answer } = body;
  const { user, device, session, settle } = await finishSignIn(ctx, answer, ports, {
    goal: 'browser',
    requireSameFlow: (pending) => pending.requireFlowKey(flow_key),
  });
  const report = await signInReport(ctx, user);
  const issued = await issueSession(ctx, user, { method: 'sign_on', provider: session });
  ctx.record.describe({ token: issued.row.token_id });
  return ctx.change(async (tx) => {
    await settle(tx);
    await deleteDevice(tx, device);
    const current = await lockUser(tx, user.tenant_id, user.user_id);
    if (current?.status !== 'active') throw denied('the user is disabled');
    await insertToken(tx, issued.row, current);
    await report(tx, current, { method: 'sign_on', shown: NO_FACTOR });
    return sessionAnswer(issued);
  });
}

/** The address at which an answer came in. */
function addressOf({ kernel }: Context, { tenant_id, provider }: Params<typeof contract.readCallback>): string {
  return redirectUri(kernel, { tenant_id, name: provider });
}
