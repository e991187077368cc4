import { AuthenticatedTable } from '../../kernel/integrity/authenticated-table.ts';
import type { Plan } from '../../kernel/limits/rate-classes.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

export interface BillingTables {
  subscriptions: Authenticated<SubscriptionRow>;
  billing_events: BillingEventRow;
}

/** https://docs.stripe.com/api/subscriptions/object#subscription_object-status; in the order of the life of a subscription. */
export const STATUSES = [
  'incomplete',
  'trialing',
  'active',
  'past_due',
  'unpaid',
  'paused',
  'incomplete_expired',
  'canceled',
] as const;
export type StripeStatus = (typeof STATUSES)[number];

/** A subscription of a tenant. In the tenant of the operator: one of which it is not known yet whose it is. */
export interface SubscriptionRow {
  tenant_id: string;
  subscription_id: string;
  customer_id: string;
  /** `lapsed`: it was overdue until its grace was over. */
  status: StripeStatus | 'lapsed';
  /** Null if its price is not known. */
  plan: Plan | null;
  /** The time at Stripe of the state that is stored. */
  state_at: number;
  /** Until when an overdue one gives its plan. */
  grace_until: number | null;
  updated_at: number;
  /** In the tenant of the operator: a tenant that does not exist yet, named by an event. Its sign-up may still be verified. */
  claimed_tenant_id: string | null;
}

/** An event that was received, in the tenant of the operator, so that it is applied once. */
export interface BillingEventRow {
  tenant_id: string;
  event_id: string;
  type: string;
  subject_tenant_id: string | null;
  outcome: string;
  event_at: number;
  received_at: number;
}

export const SUBSCRIPTIONS = new AuthenticatedTable<'subscriptions', SubscriptionRow>('subscriptions', {
  key: ['subscription_id'],
  covered: ['customer_id', 'status', 'plan', 'state_at', 'grace_until', 'updated_at'],
  appended: ['claimed_tenant_id'],
});

export async function findSubscription(db: Reader, subscriptionId: string): Promise<SubscriptionRow | undefined> {
  const query = db.selectFrom('subscriptions').selectAll().where('subscription_id', '=', subscriptionId);
  return SUBSCRIPTIONS.checked(db, await query.executeTakeFirst());
}

export async function lockSubscription(tx: Tx, subscriptionId: string): Promise<SubscriptionRow | undefined> {
  const [row] = await SUBSCRIPTIONS.lockedWhere(tx, (eb) => eb.and({ subscription_id: subscriptionId }));
  return row;
}

export async function subscriptionsOf(db: Reader, tenantId: string): Promise<SubscriptionRow[]> {
  const rows = await db.selectFrom('subscriptions').selectAll().where('tenant_id', '=', tenantId).execute();
  return SUBSCRIPTIONS.checkedAll(db, rows);
}

/** Subscriptions that were bought for a tenant before it existed. */
export function lockClaimed(tx: Tx, tenantId: string, claimed_tenant_id: string): Promise<SubscriptionRow[]> {
  return SUBSCRIPTIONS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, claimed_tenant_id }));
}

/** Inserts or replaces it, and removes it from the tenant it was in before. */
export async function putSubscription(
  tx: Tx,
  row: SubscriptionRow,
  before: SubscriptionRow | undefined,
): Promise<void> {
  if (before?.tenant_id === row.tenant_id) {
    await SUBSCRIPTIONS.update(tx, before, row);
    return;
  }
  if (before !== undefined) {
    const { tenant_id, subscription_id } = before;
    await SUBSCRIPTIONS.deleteWhere(tx, (eb) => eb.and({ tenant_id, subscription_id }));
  }
  await SUBSCRIPTIONS.insert(tx, row);
}

/** A page of all subscriptions in the order of their key. They are not verified yet. */
export async function subscriptionsAfter(
  db: Reader,
  after: Pick<SubscriptionRow, 'tenant_id' | 'subscription_id'>,
  limit: number,
): Promise<SubscriptionRow[]> {
  return db
    .selectFrom('subscriptions')
    .selectAll()
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('tenant_id', 'subscription_id'), '>', tuple(after.tenant_id, after.subscription_id)),
    )
    .orderBy('tenant_id')
    .orderBy('subscription_id')
    .limit(limit)
    .execute();
}

export async function hasEvent(db: Reader, tenantId: string, eventId: string): Promise<boolean> {
  const query = db.selectFrom('billing_events').select('event_id').where('tenant_id', '=', tenantId);
  return (await query.where('event_id', '=', eventId).executeTakeFirst()) !== undefined;
}

/** False if the event was received before. The second insert waits for the first. */
export async function insertEvent(tx: Tx, row: BillingEventRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('billing_events')
    .values(row)
    .onConflict((c) => c.columns(['tenant_id', 'event_id']).doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

export async function setOutcome(
  tx: Tx,
  { tenant_id, event_id }: Pick<BillingEventRow, 'tenant_id' | 'event_id'>,
  change: Pick<BillingEventRow, 'outcome' | 'subject_tenant_id'>,
): Promise<void> {
  await tx
    .updateTable('billing_events')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('event_id', '=', event_id)
    .execute();
}

export async function deleteEventsBefore(tx: Tx, time: Cutoff): Promise<void> {
  await tx.deleteFrom('billing_events').where('received_at', '<', time).execute();
}
