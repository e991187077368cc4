import { timestamp } from '../../kernel/base/clock.ts';
import { newId } from '../../kernel/base/ids.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import type { WebhookEvent } from './message-format.ts';
import { EVENTS, type EventName, isAtLeast, type Severity } from './schemas.ts';
import * as store from './store.ts';

/** Something that happened to a tenant. It holds names, ids and counts, never a value. */
export interface Emitted {
  event: EventName;
  object: Readonly<Record<string, unknown>>;
  /** Null for events that every subscription gets, whatever its `min_severity`. */
  severity?: Severity;
  summary: string;
  dedupKey: string;
}

/** Stores an event for each subscription, in the transaction that causes it: a crash loses neither or both. */
export function emit(tx: Tx, tenantId: string, emitted: Emitted, now: number): Promise<void> {
  return emitAll(tx, tenantId, [emitted], now);
}

/** The same for several events, for which the subscriptions are loaded and checked once. */
export async function emitAll(tx: Tx, tenantId: string, all: readonly Emitted[], now: number): Promise<void> {
  if (all.length === 0) return;
  const webhooks = (await store.enabledWebhooks(tx, tenantId)).map((row) => ({
    ...row,
    events: JSON.parse(row.events) as string[],
  }));
  const deliveries = all.flatMap((emitted) => {
    const { event, severity = null } = emitted;
    const message = messageOf(tenantId, emitted, now);
    return webhooks
      .filter(
        ({ events, min_severity }) =>
          events.includes(event) && (severity === null || isAtLeast(severity, min_severity)),
      )
      .map(({ webhook_id }) => newDelivery({ tenant_id: tenantId, webhook_id }, message, now));
  });
  await store.insertDeliveries(tx, deliveries);
}

function messageOf(tenantId: string, emitted: Emitted, now: number): WebhookEvent {
  const { event, object, severity = null, summary, dedupKey } = emitted;
  return {
    event,
    objectName: EVENTS[event][0],
    object,
    tenant: tenantId,
    timestamp: timestamp(now),
    severity,
    summary,
    dedupKey,
  };
}

export function newDelivery(key: store.WebhookKey, message: WebhookEvent, now: number): store.DeliveryRow {
  return {
    ...key,
    delivery_id: newId('delivery', now),
    event: message.event,
    message: JSON.stringify(message),
    status: 'pending',
    attempts: 0,
    next_attempt_at: now,
    lease_until: 0,
    response_status: null,
    duration_ms: null,
    last_error: null,
    created_at: now,
    ended_at: null,
  };
}
