import { randomInt } from 'node:crypto';
import { systemEntry } from '../../kernel/audit/entry/system-entry.ts';
import { SECOND_MS } from '../../kernel/base/clock.ts';
import { DueWorker } from '../../kernel/jobs/due-work.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import { type HttpClient, OutgoingFailure } from '../../kernel/outbound/http-client.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { WebhookKernel } from './links.ts';
import { messageBody, type WebhookEvent } from './message-format.ts';
import { nextAttemptAt } from './retry-schedule.ts';
import { signingSecrets, unsealSecrets } from './secrets.ts';
import { signatureHeaders } from './signature.ts';
import * as store from './store.ts';

/** Deliveries that one node makes at once. */
const AT_ONCE = 256;
/** Of these for one webhook and for one tenant, so that receivers that hang do not delay those of others. */
const PER_WEBHOOK = 4;
const PER_TENANT = 32;
/** Of these for all webhooks whose last attempt on this node was slow. Each of them has one until an attempt is quick again. */
const SLOW_AT_ONCE = AT_ONCE / 4;
const SLOW_MS = 5 * SECOND_MS;
/** Slow webhooks that a node knows; it evicts the one that was slow first. */
const SLOW_MAX = 1000;
/** The group of slow webhooks. No webhook or tenant has this id. */
const SLOW = 'slow';
const TIMEOUT_MS = 15 * SECOND_MS;
/** Longer than an attempt with all its waiting takes. */
const LEASE_MS = 60 * SECOND_MS;
const ANSWER_BYTES_MAX = 64 * 1024;
const GONE = 410;
const GONE_REASON = 'the receiver responded with 410 Gone';

export interface Attempt {
  isDelivered: boolean;
  status: number | null;
  durationMs: number;
  error: string | null;
  retryAfterMs: number | null;
}

/** Sends one message once. */
export async function attempt(
  { kernel, http }: { kernel: Pick<Kernel, 'clock' | 'keyring'>; http: HttpClient },
  webhook: store.WebhookRow,
  deliveryId: string,
  message: WebhookEvent,
): Promise<Attempt> {
  const secrets = await unsealSecrets(kernel, webhook);
  const now = kernel.clock.now();
  const body = messageBody(webhook.format, message, secrets.routing_key ?? null);
  const signed = { id: deliveryId, timestamp: Math.floor(now / SECOND_MS), body };
  const startedAt = performance.now();
  const outcome = (status: number | null, error: string | null, retryAfterMs: number | null = null): Attempt => ({
    isDelivered: error === null,
    status,
    durationMs: Math.round(performance.now() - startedAt),
    error,
    retryAfterMs,
  });
  try {
    const answer = await http.send({
      owner: webhook.tenant_id,
      url: webhook.url,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...signatureHeaders(signed, signingSecrets(secrets, now)) },
      body,
      bodyBytesMax: ANSWER_BYTES_MAX,
      timeoutMs: TIMEOUT_MS,
    });
    const isTaken = answer.status >= 200 && answer.status < 300;
    const error = isTaken ? null : `the receiver responded with status ${answer.status}`;
    return outcome(answer.status, error, answer.retryAfterMs);
  } catch (error) {
    if (!(error instanceof OutgoingFailure)) throw error;
    // A large or compressed response still says that the message arrived, but not whether it was taken.
    return outcome(null, error.message);
  }
}

function attemptsIn(metrics: Metrics) {
  return metrics.counter(
    'cv_webhook_attempts_total',
    'Attempts to deliver an event to a webhook on this node: delivered, to be retried, or failed for good.',
    ['outcome'],
  );
}

/** Works off the deliveries that wait, on any node. */
export function deliveryWorker(kernel: WebhookKernel, http: HttpClient): DueWorker<store.DeliveryRow> {
  const { database, clock, log, activity } = kernel;
  // The metric exists from the start, so that an alert can be built on it before the first delivery.
  attemptsIn(kernel.metrics);
  const slow = new Set<string>();
  return new DueWorker<store.DeliveryRow>(
    {
      isServed: (row) => kernel.regionGate.isServedHere(row.tenant_id),
      name: 'webhook deliveries',
      find: (limit, full) => {
        const except = full.includes(SLOW) ? [...full, ...slow] : full;
        return store.dueDeliveries(database.read, clock.now(), { limit, except });
      },
      groups: ({ webhook_id, tenant_id }) => [
        { name: webhook_id, slots: slow.has(webhook_id) ? 1 : PER_WEBHOOK },
        { name: tenant_id, slots: PER_TENANT, isShare: true },
        ...(slow.has(webhook_id) ? [{ name: SLOW, slots: SLOW_AT_ONCE }] : []),
      ],
      take: async (row) => {
        const lease_until = clock.now() + LEASE_MS;
        const isTaken = await database
          .forTenant(row.tenant_id)
          .transaction((tx) => store.takeDelivery(tx, row, lease_until));
        return isTaken ? { ...row, lease_until } : null;
      },
      work: async (row) => {
        const webhook = await store.findWebhook(database.read, row);
        if (webhook === undefined) return;
        const message = JSON.parse(row.message) as WebhookEvent;
        const made = await attempt({ kernel, http }, webhook, row.delivery_id, message);
        noteSpeed(slow, row.webhook_id, made);
        await storeOutcome(kernel, webhook, row, made);
      },
    },
    { atOnce: AT_ONCE, log, activity },
  );
}

function noteSpeed(slow: Set<string>, webhookId: string, { durationMs }: Attempt): void {
  slow.delete(webhookId);
  if (durationMs >= SLOW_MS) slow.add(webhookId);
  const [first = ''] = slow;
  if (slow.size > SLOW_MAX) slow.delete(first);
}

async function storeOutcome(
  kernel: WebhookKernel,
  webhook: store.WebhookRow,
  row: store.DeliveryRow,
  made: Attempt,
): Promise<void> {
  const now = kernel.clock.now();
  const attemptsMade = row.attempts + 1;
  const facts = { now, retryAfterMs: made.retryAfterMs, random: randomInt(2 ** 32) / 2 ** 32 };
  const next = made.isDelivered || made.status === GONE ? null : nextAttemptAt(attemptsMade, facts);
  attemptsIn(kernel.metrics).inc({ outcome: made.isDelivered ? 'delivered' : next === null ? 'failed' : 'retry' });
  const headKey = await kernel.audit.headKey(row.tenant_id);
  await kernel.database.forTenant(row.tenant_id).transaction(async (tx) => {
    const isOurs = await store.updateTaken(tx, row, {
      status: made.isDelivered ? 'delivered' : next === null ? 'failed' : 'pending',
      attempts: attemptsMade,
      next_attempt_at: next,
      lease_until: 0,
      response_status: made.status,
      duration_ms: made.durationMs,
      last_error: made.error,
      ended_at: next === null ? now : null,
    });
    if (!isOurs || made.status !== GONE) return;
    const current = await store.lockWebhook(tx, webhook);
    if (current === undefined || current.enabled === 0) return;
    await store.updateWebhook(tx, { ...current, enabled: 0, disabled_reason: GONE_REASON, updated_at: now });
    const entry = systemEntry({
      tenantId: row.tenant_id,
      actorId: 'job:deliver-webhooks',
      action: 'webhooks:disable',
      resource: `webhook/${row.webhook_id}`,
      status: 200,
      details: { reason: GONE_REASON },
      now,
    });
    await kernel.audit.recordIn(tx, [entry], headKey);
  });
}
