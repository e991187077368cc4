import { systemEntry } from '../../kernel/audit/system-entry.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { lockCounter } from '../../kernel/storage/counters.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import { settlePlan } from './service.ts';
import * as store from './store.ts';
import { isOverdue } from './subscription.ts';

const AT_ONCE = 100;

/** Ends the grace of subscriptions that were not paid. Their tenants keep everything they have, and get the limits of a smaller plan. */
export async function endGracePeriods(kernel: Kernel, signal: AbortSignal, cutoff: Cutoff): Promise<void> {
  const { database, regionGate, operatorTenantId } = kernel;
  for (;;) {
    const found = await store.overdueBefore(database.read, cutoff, AT_ONCE);
    let ended = 0;
    for (const { tenant_id, subscription_id } of found) {
      if (signal.aborted) return;
      if (tenant_id !== operatorTenantId && !(await regionGate.isServedHere(tenant_id))) continue;
      await endGrace(kernel, tenant_id, subscription_id, cutoff);
      ended++;
    }
    if (ended < AT_ONCE) return;
  }
}

async function endGrace(kernel: Kernel, tenantId: string, subscriptionId: string, cutoff: Cutoff): Promise<void> {
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
