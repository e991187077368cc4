import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/platform/clock.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import { StartError } from '../../kernel/storage/data-folder.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import * as contract from './contract.ts';
import { endGracePeriods } from './grace.ts';
import { claimSubscriptions, graceOf, receiveEvent, secretsOf } from './service.ts';
import { deleteEventsBefore, subscriptionsOf } from './store.ts';

export { SUBSCRIPTIONS } from './store.ts';

/** Longer than Stripe sends an event again, which is for days. */
const EVENTS_KEPT_MS = 90 * DAY_MS;

export function billingFeature(kernel: Kernel): Feature {
  return {
    name: 'billing',
    endpoints: bindContract(contract, { billingWebhook: (ctx) => receiveEvent(ctx) }),
    provides: {
      claimSubscriptions,
      graceUntil: async (db, tenantId) => graceOf(await subscriptionsOf(db, tenantId)),
    },
    jobs: [
      {
        name: 'end-grace-periods',
        intervalMs: 15 * MINUTE_MS,
        // It deletes nothing: a plan that ended too early comes back with the next event.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (signal, cutoff) => endGracePeriods(kernel, signal, cutoff),
      },
      {
        name: 'delete-old-billing-events',
        intervalMs: HOUR_MS,
        // Events are only kept to recognize repetitions, and after a quiet time all of them are old.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (_, cutoff) =>
          kernel.database.transaction((tx) => deleteEventsBefore(tx, earlier(cutoff, EVENTS_KEPT_MS))),
      },
    ],
    open: async () => {
      const { stripe } = kernel.config;
      if (stripe === null) return;
      await secretsOf(stripe).catch((error: Error) => {
        throw new StartError(`The secret of Stripe's webhooks cannot be used: ${error.message}`);
      });
    },
  };
}
