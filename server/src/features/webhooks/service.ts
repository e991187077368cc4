import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { idForm, newId } from '../../kernel/base/ids.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import { refuseForbidden } from '../../kernel/outbound/configured-url.ts';
import { type HttpClient, parseOutgoingUrl } from '../../kernel/outbound/http-client.ts';
import { requirePlan } from '../../kernel/request/admission.ts';
import type { Context } from '../../kernel/request/context.ts';
import { lockQuota, refuseBeyondQuota } from '../../kernel/request/quotas.ts';
import { plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import type * as contract from './contract.ts';
import { readWebhook } from './contract.ts';
import { attempt } from './delivery.ts';
import { type Delivery, type MessageFormat, TEST_EVENT, type Webhook, type WebhookWithSecret } from './schemas.ts';
import { OVERLAP_MS, sealSecrets, unsealSecrets, type WebhookSecrets } from './secrets.ts';
import { newSigningSecret } from './signature.ts';
import * as store from './store.ts';

const LIST_CURSOR = new RegExp(`^${store.CURSOR_KIND}$`);
const DELIVERY_CURSOR = new RegExp(`^${store.DELIVERY_CURSOR_KIND}$`);

export async function create(ctx: Context, body: Body<typeof contract.createWebhook>): Promise<WebhookWithSecret> {
  ctx.access.requireUnrestricted();
  requirePlanFor(ctx, body.events);
  refuseUnusable(body.url, body.format ?? 'standard', body.routing_key !== undefined);
  refuseForbidden(ctx.kernel.outbound, '/body/url', body.url);
  const key = { tenant_id: ctx.tenantId, webhook_id: newId('webhook', ctx.now) };
  const secrets: WebhookSecrets = {
    signing: newSigningSecret(),
    ...(body.routing_key !== undefined && { routing_key: body.routing_key }),
  };
  const row: store.WebhookRow = {
    ...key,
    url: body.url,
    events: JSON.stringify(body.events),
    min_severity: body.min_severity ?? 'low',
    format: body.format ?? 'standard',
    sealed_secrets: await sealSecrets(ctx.kernel, key, secrets),
    enabled: Number(body.enabled ?? true),
    disabled_reason: null,
    created_by: ctx.principal.id,
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  return ctx.change(async (tx) => {
    await lockQuota(tx, ctx.tenantId, 'webhooks');
    refuseBeyondQuota(ctx, 'webhooks', await store.countWebhooks(tx, ctx.tenantId));
    ctx.record.describe(described(row));
    await store.insertWebhook(tx, row);
    return { ...toWire(row), secret: secrets.signing };
  });
}

export async function list(ctx: Context, query: Query<typeof contract.listWebhooks>) {
  const [, after = ''] = decodeCursor(await plainCursor(ctx, query.cursor), LIST_CURSOR, idForm('webhook')) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const page = await visiblePage(ctx, await store.listWebhooks(ctx.database.read, ctx.tenantId, after, limit), {
    permissions: [readWebhook.permission],
    resources: ({ webhook_id }) => [`webhook/${webhook_id}`],
  });
  return { webhooks: page.rows.map(toWire), next_cursor: page.next_cursor };
}

export async function read(ctx: Context, webhookId: string): Promise<Webhook> {
  return toWire(await existing(ctx, webhookId));
}

export async function readUrl(ctx: Context, webhookId: string): Promise<{ url: string }> {
  const { url } = await existing(ctx, webhookId);
  return { url };
}

export async function update(
  ctx: Context,
  webhookId: string,
  body: Body<typeof contract.updateWebhook>,
): Promise<Webhook> {
  ctx.access.requireUnrestricted();
  const known = await existing(ctx, webhookId);
  if (!isDisabling(body)) requirePlanFor(ctx, body.events ?? (JSON.parse(known.events) as string[]));
  const secrets = await unsealSecrets(ctx.kernel, known);
  const routing_key = body.routing_key ?? secrets.routing_key;
  refuseUnusable(body.url ?? known.url, body.format ?? known.format, routing_key !== undefined);
  if (body.url !== undefined) refuseForbidden(ctx.kernel.outbound, '/body/url', body.url);
  const isElsewhere = body.url !== undefined && body.url !== known.url;
  if (isElsewhere && secrets.routing_key !== undefined && body.routing_key === undefined) {
    throw invalidField(
      '/body/routing_key',
      'must be given with a new url, so that the stored one is not sent elsewhere',
    );
  }
  const sealed = await sealSecrets(ctx.kernel, known, {
    ...secrets,
    ...(routing_key !== undefined && { routing_key }),
  });
  return ctx.change(async (tx) => {
    const row = await store.lockWebhook(tx, known);
    if (row === undefined) throw notFound('webhook');
    refuseIfSecretsChanged(row, known);
    const changed: store.WebhookRow = {
      ...row,
      url: body.url ?? row.url,
      events: body.events === undefined ? row.events : JSON.stringify(body.events),
      min_severity: body.min_severity ?? row.min_severity,
      format: body.format ?? row.format,
      sealed_secrets: sealed,
      enabled: Number(body.enabled ?? row.enabled === 1),
      disabled_reason: body.enabled === undefined ? row.disabled_reason : null,
      updated_at: ctx.now,
    };
    ctx.record.describe({ ...described(changed), changed: Object.keys(body) });
    await store.updateWebhook(tx, changed);
    return toWire(changed);
  });
}

export async function remove(ctx: Context, webhookId: string): Promise<Deleted> {
  const known = await existing(ctx, webhookId);
  return ctx.change(async (tx) => {
    const row = await store.lockWebhook(tx, known);
    if (row === undefined) throw notFound('webhook');
    ctx.record.describe(described(row));
    await store.deleteWebhook(tx, row);
    return DELETED;
  });
}

export async function rotateSecret(ctx: Context, webhookId: string): Promise<WebhookWithSecret> {
  ctx.access.requireUnrestricted();
  const known = await existing(ctx, webhookId);
  const { previous: _, ...secrets } = await unsealSecrets(ctx.kernel, known);
  const signing = newSigningSecret();
  const previous = { signing: secrets.signing, until: ctx.now + OVERLAP_MS };
  const sealed = await sealSecrets(ctx.kernel, known, { ...secrets, signing, previous });
  return ctx.change(async (tx) => {
    const row = await store.lockWebhook(tx, known);
    if (row === undefined) throw notFound('webhook');
    refuseIfSecretsChanged(row, known);
    const changed = { ...row, sealed_secrets: sealed, updated_at: ctx.now };
    await store.updateWebhook(tx, changed);
    return { ...toWire(changed), secret: signing };
  });
}

export async function test(ctx: Context, http: HttpClient, webhookId: string) {
  const row = await existing(ctx, webhookId);
  const message = {
    event: TEST_EVENT,
    objectName: 'webhook',
    object: { id: row.webhook_id },
    tenant: ctx.tenantId,
    timestamp: timestamp(ctx.now),
    severity: null,
    summary: 'A test of this webhook by Coffer.',
    dedupKey: row.webhook_id,
  };
  const made = await attempt({ kernel: ctx.kernel, http }, row, newId('delivery', ctx.now), message);
  ctx.record.describe({ delivered: made.isDelivered });
  return {
    delivered: made.isDelivered,
    response_status: made.status,
    error: made.error,
    duration_ms: made.durationMs,
  };
}

export async function deliveries(ctx: Context, webhookId: string, query: Query<typeof contract.listWebhookDeliveries>) {
  const row = await existing(ctx, webhookId);
  const ofThis = new RegExp(`^${row.webhook_id}$`);
  const cursor = decodeCursor(await plainCursor(ctx, query.cursor), DELIVERY_CURSOR, ofThis, idForm('delivery'));
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const page = await visiblePage(ctx, await store.listDeliveries(ctx.database.read, row, cursor?.[2] ?? null, limit), {
    permissions: [readWebhook.permission],
    resources: () => [`webhook/${row.webhook_id}`],
  });
  return { deliveries: page.rows.map(deliveryToWire), next_cursor: page.next_cursor };
}

export async function redeliver(ctx: Context, webhookId: string, deliveryId: string): Promise<Delivery> {
  const row = await existing(ctx, webhookId);
  return ctx.change(async (tx) => {
    const key = { tenant_id: ctx.tenantId, delivery_id: deliveryId };
    const delivery = await store.findDelivery(tx, key);
    if (delivery?.webhook_id !== row.webhook_id) throw notFound('delivery');
    ctx.record.describe({ delivery: deliveryId, event: delivery.event });
    await store.restartDelivery(tx, key, ctx.now);
    const restarted = await store.findDelivery(tx, key);
    return deliveryToWire(restarted ?? delivery);
  });
}

/** What a plan no longer includes can still be turned off. */
function isDisabling(body: Body<typeof contract.updateWebhook>): boolean {
  return body.enabled === false && Object.keys(body).length === 1;
}

/** Every plan has webhooks for anomalies; other events are for the professional plan. */
function requirePlanFor(ctx: Context, events: readonly string[]): void {
  if (events.some((event) => event !== 'anomaly.detected')) requirePlan(ctx, 'professional');
}

const CHANGED = 'The webhook was changed meanwhile: read it again and retry.';

/** The sealed secrets are made before the transaction, so they must still be the ones that were read. */
function refuseIfSecretsChanged(row: store.WebhookRow, known: store.WebhookRow): void {
  if (Buffer.compare(row.sealed_secrets, known.sealed_secrets) !== 0)
    throw new CofferError('VERSION_CONFLICT', CHANGED);
}

async function existing(ctx: Context, webhookId: string): Promise<store.WebhookRow> {
  const row = await store.findWebhook(ctx.database.read, { tenant_id: ctx.tenantId, webhook_id: webhookId });
  if (row === undefined) throw notFound('webhook');
  return row;
}

function refuseUnusable(url: string, format: MessageFormat, hasRoutingKey: boolean): void {
  if (url.includes(CUT)) {
    throw invalidField('/body/url', 'must be the whole URL, not the shortened one that lists show');
  }
  if (parseOutgoingUrl(url) === null) {
    throw invalidField(
      '/body/url',
      'must be a URL such as https://example.com/hook, without a user, a password or a fragment',
    );
  }
  if ((format === 'pagerduty') !== hasRoutingKey) {
    throw invalidField(
      '/body/routing_key',
      hasRoutingKey ? 'is for the format pagerduty only' : 'must be given for the format pagerduty',
    );
  }
}

function described({ url, events, min_severity, format, enabled }: store.WebhookRow) {
  return { url: new URL(url).origin, events: JSON.parse(events), min_severity, format, enabled: enabled === 1 };
}

/** Stands for what is left out of a URL. No URL contains it as it is. */
const CUT = '…';
const SHOWN_CHARS = 4;

/** Chats and pagers trust anyone who has their URL, so it is shown by its origin and its end. */
function shownUrl({ url, format }: Pick<store.WebhookRow, 'url' | 'format'>): string {
  return format === 'standard' ? url : `${new URL(url).origin}/${CUT}${url.slice(-SHOWN_CHARS)}`;
}

function toWire(row: store.WebhookRow): Webhook {
  return {
    id: row.webhook_id,
    url: shownUrl(row),
    events: JSON.parse(row.events),
    min_severity: row.min_severity,
    format: row.format,
    enabled: row.enabled === 1,
    disabled_reason: row.disabled_reason,
    created_by: row.created_by,
    created_at: timestamp(row.created_at),
    updated_at: timestamp(row.updated_at),
  };
}

function deliveryToWire(row: store.DeliveryRow): Delivery {
  return {
    id: row.delivery_id,
    event: row.event,
    status: row.status,
    attempts: row.attempts,
    response_status: row.response_status,
    duration_ms: row.duration_ms,
    error: row.last_error,
    next_attempt_at: row.next_attempt_at === null ? null : timestamp(row.next_attempt_at),
    created_at: timestamp(row.created_at),
    ended_at: row.ended_at === null ? null : timestamp(row.ended_at),
  };
}
