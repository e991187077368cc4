import { isAdminRole } from '../../kernel/authz/roles.ts';
import { hashPassword, needsRehash, verifyPassword } from '../../kernel/crypto/passwords.ts';
import { HOUR_MS, timestamp, timestampOrNull } from '../../kernel/platform/clock.ts';
import { CofferError, invalidField } from '../../kernel/platform/errors.ts';
import type { Ports } from '../../kernel/platform/wiring.ts';
import { Preserialized } from '../../kernel/request/binding.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Body, Output } from '../../kernel/request/declaration.ts';
import type { Principal } from '../../kernel/request/principal.ts';
import { canonicalEmail } from '../../kernel/request/wire.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import {
  findOperatorTenant,
  findTenantByName,
  lockAndCheckActive,
  type TenantRow,
} from '../../kernel/storage/tenant-rows.ts';
import { secondFactor } from '../mfa/index.ts';
import { type IssuedToken, insertToken, issueToken, revokeTokens, revokeTokensOfUser } from '../tokens/index.ts';
import { findUser, findUserByEmail, lockUser, type UserRow, updateUser } from '../users/index.ts';
import { beginTry, forgiveAddress, subjectsOf, succeeded, takeBack } from './back-off.ts';
import type * as contract from './contract.ts';
import { type Warning, warningsFor } from './warnings.ts';

export const SESSION_TTL_MS = 12 * HOUR_MS;

declare module '../../kernel/platform/wiring.ts' {
  interface Ports {
    /** Whether people of the tenant, owners excepted, can log in only with an OpenID provider. */
    requiresSignOn(db: Reader, tenantId: string): Promise<boolean>;
  }
}

export type SessionPorts = Pick<Ports, 'requiresSignOn'>;

/** An owner can always log in with a password, so that a provider that fails locks nobody out for good. */
export async function refuseIfSignOnRequired(ctx: Context, ports: SessionPorts, user: UserRow): Promise<void> {
  if (user.role === 'owner' || !(await ports.requiresSignOn(ctx.database.read, user.tenant_id))) return;
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
    throw new CofferError('MFA_REQUIRED', 'Send the code of your authenticator, or a recovery code, as `otp`.');
  }
  const issued = await issueSession(ctx, user, factor.isEnrolled);
  // The plaintext password is available only during a login.
  const raised = needsRehash(user.password_hash) ? await hashPassword(body.password, queueKey) : null;
  ctx.record.describe({ token: issued.row.token_id, mfa: factor.isEnrolled });
  return ctx.change(async (tx) => {
    // Checked again under a lock: if the password changed during verification, no session may be created.
    const current = await lockUser(tx, tenant.tenant_id, user.user_id);
    if (current?.password_hash !== user.password_hash || current.status !== 'active') throw denied('the user changed');
    if (!(await factor.spend(tx))) throw denied('wrong or already used one-time code');
    await succeeded(tx, subjects);
    if (raised !== null) await updateUser(tx, tenant.tenant_id, user.user_id, { password_hash: raised });
    if (!(await lockAndCheckActive(tx, tenant.tenant_id))) throw denied('the tenant was suspended during the login');
    await insertToken(tx, issued.row, current);
    return sessionAnswer(issued);
  });
}

export function issueSession(ctx: Context, user: UserRow, isFactorShown: boolean): Promise<IssuedToken> {
  return issueToken(ctx.kernel, {
    tenantId: user.tenant_id,
    userId: user.user_id,
    kind: 'session',
    name: 'login',
    mfaAt: isFactorShown ? ctx.now : null,
    expiresAt: ctx.now + SESSION_TTL_MS,
  });
}

export function sessionAnswer({ token, row }: IssuedToken): Output<typeof contract.login> {
  return { token, token_id: row.token_id, expires_at: timestamp(row.expires_at), user_id: row.user_id };
}

/** Determines whose audit log records the attempt: the operator's if there is no such tenant. The e-mail address is recorded either way. */
export function identify(ctx: Context, tenant: TenantRow | undefined, userId: string, email: string): void {
  const actor = { kind: userId === '' ? 'anonymous' : 'user', id: userId, name: email, key: '' };
  ctx.caller.identify(tenant?.tenant_id ?? ctx.kernel.operatorTenantId, actor);
}

function denied(auditReason: string): CofferError {
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
export async function me({ principal, database }: Context): Promise<Preserialized> {
  let answer = answers.get(principal);
  if (answer === undefined) {
    const warnings = isAdminRole(principal.role) ? await warningsFor(database.read, principal.tenantId) : [];
    answer = new Preserialized(JSON.stringify(describePrincipal(principal, warnings)));
    answers.set(principal, answer);
  }
  return answer;
}

function describePrincipal(p: Principal, warnings: Warning[]): Me {
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
  };
}

export async function changePassword(ctx: Context, body: Body<typeof contract.changePassword>): Promise<undefined> {
  ctx.access.requireUnrestricted();
  const { principal, tenantId, now } = ctx;
  const user = await findUser(ctx.database.read, tenantId, principal.id);
  if (user === undefined) throw denied('the user was deleted');
  const subjects = subjectsOf(tenantId, user.email, ctx.call.address);
  if (user.password_hash !== '') {
    if (body.current_password === undefined) throw invalidField('/body/current_password', 'is required');
    await beginTry(ctx.database, subjects, now);
    const isRight = await verifyPassword(body.current_password, user.password_hash, tenantId);
    if (!isRight) throw denied('wrong current password');
  }
  const password_hash = await hashPassword(body.new_password, tenantId);
  return ctx.change(async (tx) => {
    const current = await lockUser(tx, tenantId, principal.id);
    if (current?.password_hash !== user.password_hash) throw denied('the password was changed concurrently');
    await succeeded(tx, subjects);
    await updateUser(tx, tenantId, principal.id, { password_hash });
    const kinds = body.revoke_tokens === true ? 'all' : 'sessions';
    ctx.record.describe(await revokeTokensOfUser(tx, tenantId, principal.id, kinds, now, principal.credentialId));
    await raiseEpoch(tx, tenantId);
    return undefined;
  });
}
