import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/base/clock.ts';
import { StartError } from '../../kernel/base/data-folder.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import { graceUntil } from '../saas/index.ts';
import { claimSubscriptions } from '../tenants/index.ts';
import * as contract from './contract.ts';
import { endGracePeriods } from './grace.ts';
import * as billing from './service.ts';
import { stripeSettings } from './settings.ts';
import { deleteEventsBefore, SUBSCRIPTIONS, subscriptionsOf } from './store.ts';

/** Longer than Stripe sends an event again, which is for days. */
const EVENTS_RETENTION_MS = 90 * DAY_MS;

export const billingFeature = feature({
  name: 'billing',
  endpoints: contract,
  tables: {
    authenticated: [SUBSCRIPTIONS],
    plain: {
      billing_events:
        'remembers events that were applied; one that is sent again is still signed, and older than what is stored',
    },
  },
  settings: [stripeSettings],
  uses: ['audit', 'clock', 'config', 'database', 'operatorTenantId', 'regionGate'],
  build: (parts) => ({
    handlers: { billingWebhook: (ctx) => billing.receiveEvent(ctx) },
    provides: [
      claimSubscriptions.by(billing.claimSubscriptions),
      graceUntil.by(async (db, tenantId) => billing.graceOf(await subscriptionsOf(db, tenantId))),
    ],
    jobs: [
      {
        name: 'end-grace-periods',
        intervalMs: 15 * MINUTE_MS,
        // It deletes nothing: a plan that ended too early comes back with the next event.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (signal, cutoff) => endGracePeriods(parts, signal, cutoff),
      },
      {
        name: 'delete-old-billing-events',
        intervalMs: HOUR_MS,
        // Events are only stored to recognize repetitions, and after a quiet time all of them are old.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (_, cutoff) =>
          parts.database.transaction((tx) => deleteEventsBefore(tx, earlier(cutoff, EVENTS_RETENTION_MS))),
      },
    ],
    open: async () => {
      const stripe = parts.config.of(stripeSettings);
      if (stripe === null) return;
      await billing.secretsOf(stripe).catch((error: Error) => {
        throw new StartError(`The secret of Stripe's webhooks cannot be used: ${error.message}`);
      });
    },
  }),
});
