import { invalidToken } from '../../kernel/auth/authentication.ts';
import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField } from '../../kernel/base/errors.ts';
import type { Body, Output } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { moveRequests } from '../approvals/index.ts';
import { factorsOf, hasAny, type ShownFactor } from '../mfa/factors/index.ts';
import { type Continue, secondFactor } from '../mfa/index.ts';
import { passkeyNamed, requestOptions, spendAssertion, stepUpOf, verifyAssertion } from '../mfa/passkeys/index.ts';
import { insertToken, lockToken, moveChildren, revokeTokens } from '../tokens/storage/index.ts';
import { findUser, lockUser, type UserRow } from '../users/storage/index.ts';
import { beginTry, subjectsOf, succeeded } from './back-off.ts';
import type * as contract from './contract.ts';
import { factorMethods } from './factor-methods.ts';
import { denied, issueSession, sessionAnswer } from './service.ts';
import { signInReport } from './sign-in-report.ts';

export async function stepUpOptions(ctx: Context): Promise<Output<typeof contract.stepUpOptions>> {
  const { tenantId, principal, database } = ctx;
  const { passkeys } = await factorsOf(database.read, tenantId, principal.id);
  const methods = await factorMethods(database.read, tenantId, principal.id);
  const request = passkeys.length === 0 ? null : await requestOptions(ctx, stepUpOf(ctx), passkeys);
  return { methods, options: request?.options ?? null, expires_at: request?.expires_at ?? null };
}

/** Proves a second factor; `spend` makes sure in the transaction that the proof counts once. */
type Proof = (tx: Tx) => Promise<ShownFactor>;

/** The session continues under a new id, so that a token that was stolen before gains nothing by the factor that is shown. */
export async function continueSession(ctx: Context): Promise<Continue> {
  const { tenantId, principal, now } = ctx;
  const user = await findUser(ctx.database.read, tenantId, principal.id);
  if (user === undefined) throw denied('the user was deleted');
  const issued = await issueSession(ctx, user, {
    method: null,
    isFactorShown: true,
    expiresAt: principal.expiresAt,
  });
  return async (tx, current, show) => {
    if (current?.status !== 'active') throw denied('the user is disabled');
    const old = await lockToken(tx, tenantId, principal.credentialId);
    if (old?.revoked_at !== null) throw invalidToken('the session has ended', principal);
    const shown = await show(current);
    ctx.record.describe({ token: issued.row.token_id, factor: shown.factor });
    await revokeTokens(tx, tenantId, [old.token_id], now);
    const { method, provider, provider_subject, provider_session, parent_id } = old;
    const opened = { method, provider, provider_subject, provider_session, parent_id };
    await insertToken(tx, { ...issued.row, ...shown, ...opened }, current);
    await moveChildren(tx, tenantId, old.token_id, issued.row.token_id);
    await moveRequests(tx, tenantId, { requesterId: principal.id, from: old.token_id, to: issued.row.token_id });
    await raiseEpoch(tx, tenantId);
    return { ...sessionAnswer(issued), mfa_at: timestamp(now) };
  };
}

/** The person shows a factor again. */
export async function stepUp(
  ctx: Context,
  body: Body<typeof contract.stepUp>,
): Promise<Output<typeof contract.stepUp>> {
  const { tenantId, principal } = ctx;
  if ((body.response === undefined) === (body.otp === undefined)) {
    throw invalidField('/body', 'must have either response, the answer of a passkey, or otp');
  }
  const user = await findUser(ctx.database.read, tenantId, principal.id);
  if (user === undefined) throw denied('the user was deleted');
  const prove =
    body.response === undefined ? await byCode(ctx, user, body.otp ?? '') : await byPasskey(ctx, body.response);
  const report = await signInReport(ctx, user);
  const proceed = await continueSession(ctx);
  return ctx.change(async (tx) => {
    // The person is locked before the token, as in every revocation: the opposite order could deadlock.
    const locked = await lockUser(tx, tenantId, principal.id);
    return proceed(tx, locked, async (current) => {
      const shown = await prove(tx);
      await report(tx, current, { shown });
      return shown;
    });
  });
}

async function byPasskey(
  ctx: Context,
  response: NonNullable<Body<typeof contract.stepUp>['response']>,
): Promise<Proof> {
  const found = await passkeyNamed(ctx, response.id);
  const isOwn = found?.tenant_id === ctx.tenantId && found.user_id === ctx.principal.id;
  const verified = await verifyAssertion(ctx.kernel, stepUpOf(ctx), response, isOwn ? found : undefined);
  return async (tx) => {
    await spendAssertion(tx, verified, ctx.now);
    return { factor: verified.passkey.passkey_id, factor_trusted_from: null };
  };
}

/** Codes are guessed like passwords, so they are slowed down like them. */
async function byCode(ctx: Context, user: UserRow, otp: string): Promise<Proof> {
  const { tenantId, principal, kernel } = ctx;
  if (!hasAny(await factorsOf(ctx.database.read, tenantId, principal.id))) {
    throw new CofferError(
      'MFA_REQUIRED',
      'You have no second factor: enrol a passkey with POST /auth/mfa/passkeys/options, or an authenticator app with POST /auth/mfa/totp.',
    );
  }
  const subjects = subjectsOf(tenantId, user.email, ctx.call.address);
  await beginTry(ctx.database, subjects, ctx.now);
  const factor = await secondFactor(kernel, tenantId, principal.id, otp);
  return async (tx) => {
    const shown = await factor.spend(tx);
    if (shown === null) throw denied('wrong or already used one-time code');
    await succeeded(tx, subjects);
    return shown;
  };
}
