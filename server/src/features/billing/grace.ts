import { systemEntry } from '../../kernel/audit/entry/system-entry.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import { lockCounter } from '../../kernel/limits/counters.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import type { BillingKernel } from './links.ts';
import { settlePlan } from './service.ts';
import * as store from './store.ts';
import { isOverdue } from './subscription.ts';

const AT_ONCE = 500;

/**
 * Ends the grace of subscriptions that were not paid. Their tenants keep everything they have, and get the limits of a smaller plan. Every
 * subscription is read and verified: a query for those that are over would miss one whose grace somebody extended in the database, and nobody
 * would notice.
 */
export async function endGracePeriods(kernel: BillingKernel, signal: AbortSignal, cutoff: Cutoff): Promise<void> {
  const { database, regionGate, operatorTenantId } = kernel;
  for (let after = { tenant_id: '', subscription_id: '' }; ; ) {
    const page = await store.subscriptionsAfter(database.read, after, AT_ONCE);
    for (const row of await store.SUBSCRIPTIONS.authenticOf(database.read, page)) {
      if (signal.aborted) return;
      const { tenant_id, subscription_id, grace_until } = row;
      if (grace_until === null || grace_until > cutoff) continue;
      if (tenant_id !== operatorTenantId && !(await regionGate.isServedHere(tenant_id))) continue;
      await endGrace(kernel, tenant_id, subscription_id, cutoff);
    }
    const last = page.at(-1);
    if (last === undefined || page.length < AT_ONCE) return;
    after = last;
    await nextTurn(operatorTenantId);
  }
}

async function endGrace(
  kernel: BillingKernel,
  tenantId: string,
  subscriptionId: string,
  cutoff: Cutoff,
): Promise<void> {
  const { database, audit, clock, operatorTenantId } = kernel;
  const headKey = await audit.headKey(tenantId);
  await database.transaction(async (tx) => {
    await lockCounter(tx, operatorTenantId, 'billing events');
    const row = await store.lockSubscription(tx, subscriptionId);
    if (row?.tenant_id !== tenantId || row.grace_until === null || row.grace_until > cutoff) return;
    // Stripe calls it paid for, so the invoice that was not paid was for something else.
    const status = isOverdue(row) ? 'lapsed' : row.status;
    await store.putSubscription(tx, { ...row, status, grace_until: null, updated_at: clock.now() }, row);
    const settled = tenantId === operatorTenantId ? {} : await settlePlan(tx, tenantId);
    const entry = systemEntry({
      tenantId,
      actorId: 'job:end-grace-periods',
      action: 'billing:end_grace',
      resource: 'billing',
      status: 200,
      details: { subscription: subscriptionId, status, ...settled },
      now: clock.now(),
    });
    await audit.recordIn(tx, [entry], headKey);
  });
}
