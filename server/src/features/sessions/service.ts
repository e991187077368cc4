import type { Principal } from '../../kernel/auth/principal.ts';
import { isForOperator } from '../../kernel/authz/declared-resources.ts';
import { HOUR_MS, timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import { CofferError, invalidField } from '../../kernel/base/errors.ts';
import { hashPassword, needsRehash, verifyPassword } from '../../kernel/crypto/passwords.ts';
import type { Body, Output } from '../../kernel/endpoint/declaration.ts';
import { mapInSlices } from '../../kernel/fairness/time-slice.ts';
import {
  findOperatorTenant,
  findTenantByName,
  lockAndCheckActive,
  type TenantRow,
} from '../../kernel/integrity/tenant-rows.ts';
import { Preserialized } from '../../kernel/request/binding.ts';
import type { Context } from '../../kernel/request/context.ts';
import { type Reader, type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { canonicalEmail } from '../../kernel/wire/wire.ts';
import { hasFactor, type ShownFactor } from '../mfa/factors/index.ts';
import { isFirstStart, requireFresh, secondFactor } from '../mfa/index.ts';
import { type IssuedToken, issueToken } from '../tokens/index.ts';
import {
  insertToken,
  type ProviderSession,
  revokeTokens,
  revokeTokensOfUser,
  type SessionMethod,
} from '../tokens/storage/index.ts';
import { isExemptFromSignOn } from '../users/index.ts';
import { findUser, findUserByEmail, lockUser, type UserRow, updateUser } from '../users/storage/index.ts';
import { beginTry, forgiveAddress, subjectsOf, succeeded, takeBack } from './back-off.ts';
import type * as contract from './contract.ts';
import { factorMethods } from './factor-methods.ts';
import type { SessionParts } from './links.ts';
import { signInReport } from './sign-in-report.ts';
import { type Warning, warningsFor } from './warnings.ts';

export const SESSION_TTL_MS = 12 * HOUR_MS;

export type SessionPorts = Pick<SessionParts, 'requiresSignOn' | 'hasSignOnIdentity'>;

/** For every way to sign in without the provider. Who is exempt is decided in one place: see `isExemptFromSignOn`. */
export async function refuseIfSignOnRequired(ctx: Context, ports: SessionPorts, user: UserRow): Promise<void> {
  const { read } = ctx.database;
  if (!(await ports.requiresSignOn(read, user.tenant_id)) || (await isExemptFromSignOn(read, user))) return;
  throw new CofferError(
    'LOGIN_DENIED',
    'Your organization requires sign-in with its identity provider: use coffer login --sso.',
    { auditReason: 'the tenant requires sign-on' },
  );
}

export async function login(ctx: Context, ports: SessionPorts, body: Body<typeof contract.login>) {
  const email = canonicalEmail(body.email);
  const { read } = ctx.database;
  ctx.record.setResource('session');
  const tenant = body.tenant === undefined ? await findOperatorTenant(read) : await findTenantByName(read, body.tenant);
  const user = tenant && (await findUserByEmail(read, tenant.tenant_id, email));
  identify(ctx, tenant, user?.user_id ?? '', email);

  // Uses the tenant's id if it exists: naming the default tenant or leaving it out must not give one account two counters.
  const subjects = subjectsOf(tenant?.tenant_id ?? `no tenant ${body.tenant}`, email, ctx.call.address);
  await beginTry(ctx.database, subjects, ctx.now);
  // Uses the name from the request, whether or not the tenant exists: otherwise response time would reveal it.
  const queueKey = `login ${body.tenant ?? ''}`;
  const examined = verifyPassword(body.password, user?.password_hash || null, queueKey);
  const isPasswordRight = await examined.catch(async (error) => {
    await takeBack(ctx.database, subjects);
    throw error;
  });
  if (!isPasswordRight || tenant === undefined || user === undefined) throw denied('wrong e-mail address or password');
  if (user.status !== 'active') throw denied('the user is disabled');
  if (tenant.status !== 'active') throw denied('the tenant is suspended');

  await refuseIfSignOnRequired(ctx, ports, user);

  const factor = await secondFactor(ctx.kernel, tenant.tenant_id, user.user_id, body.otp);
  if (factor.isEnrolled && body.otp === undefined) {
    await forgiveAddress(ctx.database, subjects);
    throw new CofferError(
      'MFA_REQUIRED',
      'Send the code of your authenticator app, or a recovery code, as `otp`; or sign in with your passkey instead.',
      { details: { methods: await factorMethods(read, tenant.tenant_id, user.user_id) } },
    );
  }
  const report = await signInReport(ctx, user);
  const issued = await issueSession(ctx, user, { method: 'password', isFactorShown: factor.isEnrolled });
  // The plaintext password is available only during a login.
  const raised = needsRehash(user.password_hash) ? await hashPassword(body.password, queueKey) : null;
  ctx.record.describe({ token: issued.row.token_id, mfa: factor.isEnrolled });
  return ctx.change(async (tx) => {
    // Checked again under a lock: if the password changed during verification, no session may be created.
    const current = await lockUser(tx, tenant.tenant_id, user.user_id);
    if (current?.password_hash !== user.password_hash || current.status !== 'active') throw denied('the user changed');
    const shown = factor.isEnrolled ? await factor.spend(tx) : NO_FACTOR;
    if (shown === null) throw denied('wrong or already used one-time code');
    await succeeded(tx, subjects);
    if (raised !== null) await updateUser(tx, tenant.tenant_id, user.user_id, { password_hash: raised });
    if (!(await lockAndCheckActive(tx, tenant.tenant_id))) throw denied('the tenant was suspended during the login');
    await insertToken(tx, { ...issued.row, ...shown }, current);
    await report(tx, current, { method: 'password', shown });
    return sessionAnswer(issued);
  });
}

export const NO_FACTOR: ShownFactor = { factor: null, factor_trusted_from: null };

/** How a session is opened. */
export interface Opening {
  method: SessionMethod | null;
  isFactorShown?: boolean;
  /** Where it began, if that was at a provider. */
  provider?: ProviderSession | null;
  expiresAt?: number;
}

export function issueSession(ctx: Context, user: UserRow, opening: Opening): Promise<IssuedToken> {
  const { method, isFactorShown = false, provider = null, expiresAt = ctx.now + SESSION_TTL_MS } = opening;
  return issueToken(ctx.kernel, {
    tenantId: user.tenant_id,
    userId: user.user_id,
    kind: 'session',
    name: 'login',
    mfaAt: isFactorShown ? ctx.now : null,
    method,
    address: ctx.call.address,
    provider,
    expiresAt,
  });
}

export function sessionAnswer({ token, row }: IssuedToken): Output<typeof contract.login> {
  const { token_id, expires_at, user_id, tenant_id } = row;
  return { token, token_id, expires_at: timestamp(expires_at), user_id, tenant_id };
}

/** Determines whose audit log records the attempt: the operator's if there is no such tenant. The e-mail address is recorded either way. */
export function identify(ctx: Context, tenant: TenantRow | undefined, userId: string, email: string): void {
  const actor = { kind: userId === '' ? 'anonymous' : 'user', id: userId, name: email, key: '' };
  ctx.caller.identify(tenant?.tenant_id ?? ctx.kernel.operatorTenantId, actor);
}

export function denied(auditReason: string): CofferError {
  return new CofferError('LOGIN_DENIED', 'The e-mail address, password or code is wrong.', { auditReason });
}

export async function logout(ctx: Context): Promise<undefined> {
  return ctx.change(async (tx) => {
    await revokeTokens(tx, ctx.tenantId, [ctx.principal.credentialId], ctx.now);
    await raiseEpoch(tx, ctx.tenantId);
    return undefined;
  });
}

type Me = Output<typeof contract.readMe>;
const answers = new WeakMap<Principal, Preserialized>();

/** Depends only on data covered by the tenant's epoch, and so does the cached principal, so it is serialized once for each principal. */
export async function me(ctx: Context, ports: SessionPorts): Promise<Preserialized> {
  const { principal } = ctx;
  let answer = answers.get(principal);
  if (answer === undefined) {
    const warnings = await warningsFor(ctx, ports);
    const { certificateUrl } = ctx.kernel.addresses;
    answer = new Preserialized(JSON.stringify(describePrincipal(principal, warnings, certificateUrl)));
    answers.set(principal, answer);
  }
  return answer;
}

function describePrincipal(p: Principal, warnings: Warning[], tlsUrl: string | null): Me {
  const { credential: kind } = p;
  if (p.role === null || (kind !== 'pat' && kind !== 'session')) throw new Error('/auth/me is only for users');
  return {
    user: { id: p.id, email: p.name, name: p.displayName, role: p.role },
    tenant: { id: p.tenantId, name: p.tenantName, plan: p.plan },
    credential: {
      kind,
      id: p.credentialId,
      expires_at: timestamp(p.expiresAt),
      mfa_at: timestampOrNull(p.mfaAt),
    },
    warnings,
    tls_url: tlsUrl,
  };
}

export async function capabilities(
  { access, tenantId, principal }: Context,
  { checks }: Body<typeof contract.readCapabilities>,
) {
  const isClosed = (action: string) => isForOperator(action) && !principal.isOperator;
  return {
    allowed: await mapInSlices(
      tenantId,
      checks,
      ({ action, resource, environment }) => !isClosed(action) && access.may(action, resource, { environment }),
    ),
  };
}

export async function changePassword(
  ctx: Context,
  ports: SessionPorts,
  body: Body<typeof contract.changePassword>,
): Promise<undefined> {
  ctx.access.requireUnrestricted();
  const { principal, tenantId, now } = ctx;
  const ending = endingOf(body);
  const user = await findUser(ctx.database.read, tenantId, principal.id);
  if (user === undefined) throw denied('the user was deleted');
  const subjects = subjectsOf(tenantId, user.email, ctx.call.address);
  if (user.password_hash !== '') {
    if (body.email !== undefined) throw emailRefused();
    if (body.current_password === undefined) throw invalidField('/body/current_password', 'is required');
    await beginTry(ctx.database, subjects, now);
    const isRight = await verifyPassword(body.current_password, user.password_hash, tenantId);
    if (!isRight) throw denied('wrong current password');
  } else {
    const isFirst = await refuseFirstPassword(ctx, ports, ctx.database.read, user);
    if (body.email !== undefined && !isFirst) throw emailRefused();
  }
  const password_hash = await hashPassword(body.new_password, tenantId);
  return ctx.change(async (tx) => {
    const current = await lockUser(tx, tenantId, principal.id);
    if (current?.password_hash !== user.password_hash) throw denied('the password was changed concurrently');
    const isFirst = current.password_hash === '' && (await refuseFirstPassword(ctx, ports, tx, current));
    if (body.email !== undefined && !isFirst) throw emailRefused();
    await succeeded(tx, subjects);
    const email = body.email === undefined ? current.email : canonicalEmail(body.email);
    await setPassword(tx, current, { password_hash, email });
    if (email !== current.email) ctx.record.describe({ former_email: current.email, email });
    ctx.record.describe(
      await revokeTokensOfUser(tx, { tenantId, userId: principal.id }, ending, { now, except: principal.credentialId }),
    );
    await raiseEpoch(tx, tenantId);
    return undefined;
  });
}

function endingOf({ revoke_tokens, keep_tokens }: Body<typeof contract.changePassword>) {
  if (revoke_tokens === true && keep_tokens === true) {
    throw invalidField('/body/keep_tokens', 'cannot be combined with revoke_tokens: omit one of them');
  }
  return revoke_tokens === true ? 'all' : keep_tokens === true ? 'sessions_only' : 'sessions';
}

/**
 * There is no current password that would prove who asks, and a password outlives the credential. So the person must have just signed in. Only the
 * token of an owner who has no other way to sign in sets one without that: such an owner has nothing but the token of the first start. Resolves to
 * whether it is that one.
 */
async function refuseFirstPassword(ctx: Context, ports: SessionPorts, db: Reader, user: UserRow): Promise<boolean> {
  const { tenant_id, user_id } = user;
  const hasIdentity = await ports.hasSignOnIdentity(db, tenant_id, user_id);
  if (hasIdentity && !(await isExemptFromSignOn(db, user))) {
    throw new CofferError(
      'LOGIN_DENIED',
      'Your identity provider signs you in, so this account cannot have a password: use coffer login --sso.',
      { auditReason: 'the account belongs to a provider' },
    );
  }
  const isEnrolled = await hasFactor(db, tenant_id, user_id);
  if (isFirstStart(ctx, user, { hasIdentity, isEnrolled })) return true;
  requireFresh(ctx, isEnrolled, 'Setting a first password');
  return false;
}

async function setPassword(tx: Tx, { tenant_id, user_id }: UserRow, change: Pick<UserRow, 'password_hash' | 'email'>) {
  try {
    await updateUser(tx, tenant_id, user_id, change);
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new CofferError('ALREADY_EXISTS', 'A user with this e-mail address already exists.');
  }
}

function emailRefused(): CofferError {
  return invalidField(
    '/body/email',
    'can be set only with the first password of an owner, by the token of the first start',
  );
}
