import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, notFound } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import type { UserRow } from '../users/storage/index.ts';
import { lockTotp } from './factors/factor-store.ts';
import { confirmed, deleteFactorsOf, type Factors, hasAny, trustTimes } from './factors/factors.ts';
import type { MfaParts } from './links.ts';
import { lockPasskeysOf } from './passkeys/passkey-store.ts';

/** The caller has locked the person's row. */
export async function lockFactors(tx: Tx, tenantId: string, userId: string): Promise<Factors> {
  const totp = confirmed(await lockTotp(tx, tenantId, userId));
  return { totp, passkeys: await lockPasskeysOf(tx, tenantId, userId) };
}

/**
 * Anyone who stole a session must not add or remove a factor with it, nor set a first password: the person shows the factor they have, or has just signed in if they have none.
 */
export function requireFresh(ctx: Context, isEnrolled: boolean, what: string): void {
  if (!isFresh(ctx, isEnrolled)) throw proofMissing(isEnrolled, what, 'within the last 15 minutes');
}

/** For what a fresh session is not proof enough: the person shows their factor, or signs in without one, after it began. */
export function requireShownSince(ctx: Context, isEnrolled: boolean, since: number, what: string): void {
  const shownAt = isEnrolled ? ctx.principal.mfaAt : ctx.principal.signedInAt;
  if (shownAt === null || shownAt < since) throw proofMissing(isEnrolled, what, 'after that');
}

function proofMissing(isEnrolled: boolean, what: string, when: string): CofferError {
  const how = isEnrolled
    ? `a second factor shown ${when}: send one with POST /auth/step-up and use the new session`
    : `a sign-in ${when}: log in again and use that session`;
  // A person without a factor cannot show one: a page asks them to sign in again instead.
  const details = isEnrolled ? {} : { details: { sign_in: true } };
  return new CofferError('MFA_REQUIRED', `${what} requires ${how}.`, details);
}

/** Whether the caller has just shown a second factor or, without one, signed in: with that sign-in they could enrol one at once. */
export function isFresh({ access }: Context, isEnrolled: boolean): boolean {
  return isEnrolled ? access.isMfaFresh : access.isSignInFresh;
}

/**
 * Whether the caller is an owner with a token who has no way to sign in: they have nothing but the token of the first start, so nothing else can
 * prove who they are.
 */
export function isFirstStart(
  { principal }: Context,
  { role, password_hash }: UserRow,
  { hasIdentity, isEnrolled }: { hasIdentity: boolean; isEnrolled: boolean },
): boolean {
  return principal.credential === 'pat' && role === 'owner' && password_hash === '' && !hasIdentity && !isEnrolled;
}

/** For anyone who adds an authenticator app. The caller has locked the person's row and their factors. */
export async function requireFreshToAdd(
  ctx: Context,
  tx: Tx,
  { user, factors }: { user: UserRow | undefined; factors: Factors },
  { hasSignOnIdentity }: MfaPorts,
): Promise<void> {
  if (user === undefined) throw notFound('user');
  const isEnrolled = hasAny(factors);
  const hasIdentity = await hasSignOnIdentity(tx, user.tenant_id, user.user_id);
  if (!isFirstStart(ctx, user, { hasIdentity, isEnrolled }))
    requireFresh(ctx, isEnrolled, 'Adding an authenticator app');
}

/**
 * A passkey is a way in, which an authenticator app is not. Anyone who removes their last one keeps another: a password, or a provider that signs them
 * in. The caller has locked the person's row.
 */
export async function requireWayIn(
  tx: Tx,
  { tenant_id, user_id, password_hash }: UserRow,
  { passkeys }: Factors,
  { signOnLinks }: MfaPorts,
): Promise<void> {
  if (passkeys.length > 0 || password_hash !== '') return;
  if ((await signOnLinks(tx, tenant_id, user_id)).some(({ isEnabled }) => isEnabled)) return;
  throw new CofferError(
    'IN_USE',
    'You could not sign in any more: set a password with POST /auth/password, add another passkey or link your account with a provider first.',
  );
}
export type MfaPorts = Pick<MfaParts, 'signOnLinks' | 'hasSignOnIdentity' | 'continueSession'>;

interface Removed {
  what: string;
  since: number;
  key: string;
}

/** Nobody removes a factor of their own without showing one, even with an approval: an only owner would need nobody. A recovery code counts. */
export function requireProofToRemove(ctx: Context): void {
  requireFresh(ctx, true, 'Removing a second factor of yours');
}

/**
 * The last step of the removal of a factor by the person who has it. They do it alone if a factor stays that has been theirs for a day: otherwise
 * anyone who got hold of a session could add a factor of their own and then remove the person's.
 */
export async function approveRemoval(
  ctx: Context,
  tx: Tx,
  userId: string,
  { removed, left }: { removed: Removed; left: Factors },
): Promise<void> {
  const { tenantId, now } = ctx;
  requireProofToRemove(ctx);
  if (!hasAny(left)) await deleteFactorsOf(tx, tenantId, userId);
  if (trustTimes(left).some((from) => from <= now)) return;
  // A factor that is enrolled while the removal waits for approval is a different one, and stays.
  const differences = [{ what: `${removed.what} of ${userId}`, before: timestamp(removed.since), after: null }];
  const basis = { removed: removed.key, since: removed.since, left: left.passkeys.length + Number(left.totp !== null) };
  await ctx.needsApproval(tx, { basis, differences, subject: userId });
}
