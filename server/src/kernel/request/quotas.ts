import { CofferError } from '../base/errors.ts';
import { lockCounter } from '../limits/counters.ts';
import { QUOTA_TEXTS, type QuotaName } from '../limits/plan-quotas.ts';
import type { Tx } from '../storage/database.ts';
import type { Context } from './context.ts';

/**
 * Call this before counting a tenant's rows against a quota: concurrent changes of the same count wait until this transaction has ended. It must be
 * the first lock of a change, to avoid deadlocks. A count that concerns one row locks that row instead.
 */
export function lockQuota(tx: Tx, tenantId: string, name: QuotaName): Promise<void> {
  return lockCounter(tx, tenantId, `quota ${name}`);
}

/** Refuses to exceed the quota of the tenant's plan. `used` must be counted under a lock, in the transaction that adds. */
export function refuseBeyondQuota(ctx: Context, name: QuotaName, used: number, added = 1): void {
  const { plan } = ctx.principal;
  const limit = quotaOf(ctx, name);
  if (used + added <= limit) return;
  throw new CofferError('QUOTA_EXCEEDED', quotaMessage(plan, name, { limit, used }), {
    details: { quota: name, limit, used },
    auditReason: `quota: ${name}`,
  });
}

export function quotaMessage(plan: string, name: QuotaName, { limit, used }: { limit: number; used: number }): string {
  const [what, remedy] = QUOTA_TEXTS[name];
  const subject = what.charAt(0).toUpperCase() + what.slice(1);
  return `${subject}: the ${plan} plan allows ${limit} in all, and ${used} ${used === 1 ? 'is' : 'are'} in use. ${remedy}, or change the plan.`;
}

/** The limit of the caller's plan; Infinity if there is none. */
export function quotaOf({ kernel, principal }: Context, name: QuotaName): number {
  return kernel.plans.of(principal.plan).quotas[name];
}

/** Refuses to add to a quota that most plans do not have: without a limit nothing is locked or counted. */
export async function requireRoom(
  ctx: Context,
  tx: Tx,
  name: QuotaName,
  { used, added = 1 }: { used: () => Promise<number>; added?: number },
): Promise<void> {
  if (quotaOf(ctx, name) === Infinity) return;
  await lockQuota(tx, ctx.tenantId, name);
  refuseBeyondQuota(ctx, name, await used(), added);
}
