import { CofferError } from '../base/errors.ts';
import { NONE } from '../endpoint/declaration.ts';
import { PLANS, type Plan } from '../limits/rate-classes.ts';
import type { Context } from './context.ts';

/** Some rows belong to the installation instead of a tenant. No policy of a tenant can grant access to them. */
export function requireOwnTenant(ctx: Context): void {
  if (ctx.declaration.tenant !== 'operator' || ctx.principal.isOperator) return;
  throw new CofferError('INSUFFICIENT_PRIVILEGE', 'Only the operator tenant of this installation may do this.', {
    auditReason: 'not the operator tenant',
  });
}

/** Checked before the input is validated, so that a caller without the plan does not fix their input first. */
export function requireTier(ctx: Context): void {
  const { tier } = ctx.declaration;
  if (tier !== NONE) requirePlan(ctx, tier);
}

/** For the part of an endpoint that needs a higher plan than the rest, as its declared errors say. */
export function requirePlan({ principal }: Context, tier: Plan): void {
  if (PLANS.indexOf(principal.plan) >= PLANS.indexOf(tier)) return;
  throw new CofferError(
    'TIER_REQUIRED',
    `This requires the ${tier} plan, and your organization has ${principal.plan}: ask the operator of this installation to change the plan.`,
    { auditReason: `the plan is ${principal.plan}` },
  );
}

/** If the tenant requires a second factor, a caller without one can only enrol one. */
export function requireEnrolment({ declaration, caller }: Context): void {
  if (caller.principalOrNull?.mustEnrol !== true || declaration.beforeEnrolment === true) return;
  throw new CofferError(
    'MFA_REQUIRED',
    'Your organization requires a second factor. Enrol a passkey with POST /auth/mfa/passkeys/options and sign in with it; or enrol an authenticator app with POST /auth/mfa/totp, confirm it with POST /auth/mfa/totp/confirm, and log in with a code.',
    { auditReason: 'the tenant requires a second factor' },
  );
}
