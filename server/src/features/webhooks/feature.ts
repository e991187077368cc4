import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import * as contract from './contract.ts';
import { deliveryWorker } from './delivery.ts';
import * as webhooks from './service.ts';
import { deleteEnded, WEBHOOKS } from './store.ts';

const DELIVERIES_RETENTION_MS = 30 * DAY_MS;

export const webhooksFeature = feature({
  name: 'webhooks',
  endpoints: contract,
  tables: {
    authenticated: [WEBHOOKS],
    plain: {
      webhook_deliveries: 'says what is told to the receiver of a webhook, whose address and secret are in its own row',
    },
  },
  ids: ['webhook', 'delivery'],
  uses: ['activity', 'audit', 'clock', 'database', 'http', 'keyring', 'log', 'metrics', 'regionGate'],
  build(parts) {
    const { http } = parts;
    const worker = deliveryWorker(parts, http);
    return {
      handlers: {
        createWebhook: (ctx, { body }) => webhooks.create(ctx, body),
        listWebhooks: (ctx, { query }) => webhooks.list(ctx, query),
        readWebhook: (ctx, { params }) => webhooks.read(ctx, params.webhook_id),
        readWebhookUrl: (ctx, { params }) => webhooks.readUrl(ctx, params.webhook_id),
        updateWebhook: (ctx, { params, body }) => webhooks.update(ctx, params.webhook_id, body),
        deleteWebhook: (ctx, { params }) => webhooks.remove(ctx, params.webhook_id),
        rotateWebhookSecret: (ctx, { params }) => webhooks.rotateSecret(ctx, params.webhook_id),
        testWebhook: (ctx, { params }) => webhooks.test(ctx, http, params.webhook_id),
        listWebhookDeliveries: (ctx, { params, query }) => webhooks.deliveries(ctx, params.webhook_id, query),
        redeliverWebhook: (ctx, { params }) => webhooks.redeliver(ctx, params.webhook_id, params.delivery_id),
      },
      jobs: [
        {
          name: 'delete-old-deliveries',
          intervalMs: HOUR_MS,
          // Deliveries are a record of the last 30 days, and it is normal that a large share of them is older.
          removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
          run: async (signal, cutoff) => {
            const before = earlier(cutoff, DELIVERIES_RETENTION_MS);
            while (!signal.aborted && (await parts.database.transaction((tx) => deleteEnded(tx, before))) > 0);
          },
        },
      ],
      workers: [worker],
    };
  },
});
