import type { ExpressionBuilder } from 'kysely';
import { DAY_MS } from '../../kernel/base/clock.ts';
import { AuthenticatedTable, type RowFilter } from '../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { isOver } from '../../kernel/storage/due-times.ts';
import type { Authenticated, Tables } from '../../kernel/storage/tables.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import { type Page, pageOf } from '../../kernel/wire/cursor.ts';

export interface WebhooksTables {
  webhooks: Authenticated<WebhookRow>;
  webhook_deliveries: DeliveryRow;
}

export interface WebhookRow {
  tenant_id: string;
  webhook_id: string;
  url: string;
  /** JSON. */
  events: string;
  min_severity: 'low' | 'medium' | 'high' | 'critical';
  format: 'standard' | 'slack' | 'teams' | 'pagerduty';
  sealed_secrets: Uint8Array;
  enabled: number;
  /** Why the service itself disabled it. */
  disabled_reason: string | null;
  created_by: string;
  created_at: number;
  updated_at: number;
}

/** Decides no access, so it has no MAC: a changed message is seen by nobody but the receiver, and grants nothing. */
export interface DeliveryRow {
  tenant_id: string;
  delivery_id: string;
  webhook_id: string;
  event: string;
  /** JSON: the event, from which the body is made at each attempt. */
  message: string;
  status: 'pending' | 'delivered' | 'failed';
  attempts: number;
  /** Null once it has ended. */
  next_attempt_at: number | null;
  lease_until: number;
  response_status: number | null;
  duration_ms: number | null;
  last_error: string | null;
  created_at: number;
  ended_at: number | null;
}

export type WebhookKey = Pick<WebhookRow, 'tenant_id' | 'webhook_id'>;
export type DeliveryKey = Pick<DeliveryRow, 'tenant_id' | 'delivery_id'>;

export const WEBHOOKS = new AuthenticatedTable<'webhooks', WebhookRow>('webhooks', {
  key: ['webhook_id'],
  covered: [
    'url',
    'events',
    'min_severity',
    'format',
    'sealed_secrets',
    'enabled',
    'disabled_reason',
    'created_by',
    'created_at',
    'updated_at',
  ],
});

export const CURSOR_KIND = 'webhooks';
export const DELIVERY_CURSOR_KIND = 'webhook-deliveries';
const DELETED_AT_ONCE = 1000;
/** Each row has 13 parameters, and SQLite limits how many a statement may have. */
const INSERTED_AT_ONCE = 500;
/** Longer than the longest wait between two attempts, and than a lease. */
const AHEAD_MAX_MS = 3 * DAY_MS;

function isIt({ tenant_id, webhook_id }: WebhookKey): RowFilter<'webhooks'> {
  return (eb) => eb.and({ tenant_id, webhook_id });
}

export async function insertWebhook(tx: Tx, row: WebhookRow): Promise<void> {
  await WEBHOOKS.insert(tx, row);
}

export async function findWebhook(db: Reader, key: WebhookKey): Promise<WebhookRow | undefined> {
  return WEBHOOKS.checked(db, await db.selectFrom('webhooks').selectAll().where(isIt(key)).executeTakeFirst());
}

export async function lockWebhook(tx: Tx, key: WebhookKey): Promise<WebhookRow | undefined> {
  const [row] = await WEBHOOKS.lockedWhere(tx, isIt(key));
  return row;
}

export async function updateWebhook(tx: Tx, { tenant_id, webhook_id, ...change }: WebhookRow): Promise<void> {
  await WEBHOOKS.updateWhere(tx, isIt({ tenant_id, webhook_id }), change);
}

/** Its deliveries are deleted too: nobody could be sent them. */
export async function deleteWebhook(tx: Tx, key: WebhookKey): Promise<void> {
  await WEBHOOKS.deleteWhere(tx, isIt(key));
  await tx
    .deleteFrom('webhook_deliveries')
    .where('tenant_id', '=', key.tenant_id)
    .where('delivery_id', 'in', (eb) => deliveryIds(eb, key))
    .execute();
}

/** From an index that holds all columns of the query. SQLite would otherwise prefer the primary key, and read all deliveries of the tenant. */
function deliveryIds(eb: ExpressionBuilder<Tables, 'webhook_deliveries'>, { tenant_id, webhook_id }: WebhookKey) {
  return eb
    .selectFrom('webhook_deliveries as own')
    .select('own.delivery_id')
    .where('own.tenant_id', '=', tenant_id)
    .where('own.webhook_id', '=', webhook_id);
}

export async function countWebhooks(db: Reader, tenantId: string): Promise<number> {
  const row = await db
    .selectFrom('webhooks')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst();
  return Number(row?.count ?? 0);
}

export async function listWebhooks(
  db: Reader,
  tenantId: string,
  after: string,
  limit: number,
): Promise<Page<WebhookRow>> {
  const rows = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('webhook_id', '>', after)
    .orderBy('webhook_id')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [CURSOR_KIND, row.webhook_id]);
}

export async function enabledWebhooks(db: Reader, tenantId: string): Promise<WebhookRow[]> {
  const rows = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('enabled', '=', 1)
    .execute();
  return WEBHOOKS.checkedAll(db, rows);
}

export async function insertDeliveries(tx: Tx, rows: readonly DeliveryRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += INSERTED_AT_ONCE) {
    await tx
      .insertInto('webhook_deliveries')
      .values(rows.slice(at, at + INSERTED_AT_ONCE))
      .execute();
  }
}

export function findDelivery(db: Reader, { tenant_id, delivery_id }: DeliveryKey): Promise<DeliveryRow | undefined> {
  return db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('delivery_id', '=', delivery_id)
    .executeTakeFirst();
}

/** Newest first. */
export async function listDeliveries(
  db: Reader,
  { tenant_id, webhook_id }: WebhookKey,
  before: string | null,
  limit: number,
): Promise<Page<DeliveryRow>> {
  const rows = await db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('delivery_id', 'in', (eb) => {
      const ids = deliveryIds(eb, { tenant_id, webhook_id })
        .orderBy('own.delivery_id', 'desc')
        .limit(limit + 1);
      return before === null ? ids : ids.where('own.delivery_id', '<', before);
    })
    .orderBy('delivery_id', 'desc')
    .execute();
  return pageOf(rows, limit, (row) => [DELIVERY_CURSOR_KIND, webhook_id, row.delivery_id]);
}

interface DueOptions {
  limit: number;
  /** Webhooks and tenants that are left out. */
  except: readonly string[];
}

/** Deliveries that are due, oldest first, of enabled webhooks. */
export async function dueDeliveries(db: Reader, now: number, { limit, except }: DueOptions): Promise<DeliveryRow[]> {
  const due = await waitingDeliveries(db, now, ['<=', now], { limit, except });
  if (due.length === limit) return due;
  // Their times come from a wrong clock. Two queries use the index of times; one with both conditions would also read all that have ended.
  const misdated = await waitingDeliveries(db, now, ['>', now + AHEAD_MAX_MS], { limit: limit - due.length, except });
  return [...due, ...misdated];
}

function waitingDeliveries(
  db: Reader,
  now: number,
  [comparison, time]: readonly ['<=' | '>', number],
  { limit, except }: DueOptions,
): Promise<DeliveryRow[]> {
  let query = db
    .selectFrom('webhook_deliveries')
    .innerJoin('webhooks', (join) =>
      join
        .onRef('webhooks.tenant_id', '=', 'webhook_deliveries.tenant_id')
        .onRef('webhooks.webhook_id', '=', 'webhook_deliveries.webhook_id'),
    )
    .selectAll('webhook_deliveries')
    .where('webhooks.enabled', '=', 1)
    .where('next_attempt_at', comparison, time)
    .where(isOver('lease_until', now, AHEAD_MAX_MS))
    .orderBy('next_attempt_at')
    .limit(limit);
  if (except.length > 0) {
    query = query
      .where('webhook_deliveries.webhook_id', 'not in', except)
      .where('webhook_deliveries.tenant_id', 'not in', except);
  }
  return query.execute();
}

/** Takes a delivery until the lease ends; false if another node was faster. */
export async function takeDelivery(tx: Tx, row: DeliveryRow, leaseUntil: number): Promise<boolean> {
  return updateTaken(tx, row, { lease_until: leaseUntil });
}

/** Changes a delivery that this node has taken; false if it has been taken since. */
export async function updateTaken(
  tx: Tx,
  { tenant_id, delivery_id, lease_until }: DeliveryRow,
  change: Partial<DeliveryRow>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('webhook_deliveries')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('delivery_id', '=', delivery_id)
    .where('lease_until', '=', lease_until)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Sends it again, from the first attempt on. */
export async function restartDelivery(tx: Tx, { tenant_id, delivery_id }: DeliveryKey, now: number): Promise<void> {
  await tx
    .updateTable('webhook_deliveries')
    .set({ status: 'pending', attempts: 0, next_attempt_at: now, lease_until: 0, ended_at: null })
    .where('tenant_id', '=', tenant_id)
    .where('delivery_id', '=', delivery_id)
    .execute();
}

/** Deletes deliveries that ended before; returns how many. */
export async function deleteEnded(tx: Tx, cutoff: Cutoff): Promise<number> {
  const ended = tx
    .selectFrom('webhook_deliveries')
    .select(['tenant_id', 'delivery_id'])
    .where('ended_at', '<', cutoff)
    .limit(DELETED_AT_ONCE);
  const rows = await ended.execute();
  for (const { tenant_id, delivery_id } of rows) {
    await tx
      .deleteFrom('webhook_deliveries')
      .where('tenant_id', '=', tenant_id)
      .where('delivery_id', '=', delivery_id)
      .execute();
  }
  return rows.length;
}
