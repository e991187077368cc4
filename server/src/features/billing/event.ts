import { SECOND_MS } from '../../kernel/base/clock.ts';
import { STATUSES, type StripeStatus } from './store.ts';

/** An event of Stripe, reduced to what it says about a subscription. */
export interface BillingEvent {
  id: string;
  type: string;
  /** When it happened at Stripe. */
  at: number;
  fact: Fact | null;
}

export type Fact =
  /** Somebody of a tenant bought a subscription. */
  | { kind: 'link'; tenantId: string; subscriptionId: string; customerId: string }
  | { kind: 'state'; state: SubscriptionState }
  /** Whether an invoice of the subscription was paid. */
  | { kind: 'payment'; subscriptionId: string; isPaid: boolean };

export interface SubscriptionState {
  subscriptionId: string;
  customerId: string;
  status: StripeStatus;
  priceIds: string[];
  /** From the metadata. */
  tenantId: string | null;
}

const ID = /^[A-Za-z0-9_]{1,255}$/;
const TENANT_ID = /^tenant_[0-9a-z]{1,64}$/;
const TYPE = /^[a-z0-9_.]{1,100}$/;

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectAt = (from: Json, key: string): Json => (isObject(from[key]) ? from[key] : {});
const textAt = (from: Json, key: string, form: RegExp): string | null =>
  typeof from[key] === 'string' && form.test(from[key]) ? from[key] : null;

/** An id, or the object that Stripe puts in its place on request. */
function idAt(from: Json, key: string): string | null {
  return textAt(from, key, ID) ?? textAt(objectAt(from, key), 'id', ID);
}

/** Null if it is no event of Stripe. An event that says nothing about a subscription, or in another way than expected, has no fact. */
export function parseEvent(value: unknown): BillingEvent | null {
  if (!isObject(value) || value['object'] !== 'event') return null;
  const [id, type, created] = [textAt(value, 'id', ID), textAt(value, 'type', TYPE), value['created']];
  if (id === null || type === null || !Number.isSafeInteger(created)) return null;
  const object = objectAt(objectAt(value, 'data'), 'object');
  return { id, type, at: (created as number) * SECOND_MS, fact: factOf(type, object) };
}

function factOf(type: string, object: Json): Fact | null {
  switch (type) {
    case 'checkout.session.completed':
      return linkOf(object);
    case 'customer.subscription.created':
    case 'customer.subscription.updated':
    case 'customer.subscription.deleted': {
      const state = stateOf(object);
      return state === null ? null : { kind: 'state', state };
    }
    case 'invoice.paid':
    case 'invoice.payment_failed': {
      const subscriptionId = subscriptionOf(object);
      return subscriptionId === null ? null : { kind: 'payment', subscriptionId, isPaid: type === 'invoice.paid' };
    }
    default:
      return null;
  }
}

function linkOf(session: Json): Fact | null {
  const tenantId =
    textAt(session, 'client_reference_id', TENANT_ID) ?? textAt(objectAt(session, 'metadata'), 'tenant_id', TENANT_ID);
  const [subscriptionId, customerId] = [idAt(session, 'subscription'), idAt(session, 'customer')];
  if (tenantId === null || subscriptionId === null) return null;
  return { kind: 'link', tenantId, subscriptionId, customerId: customerId ?? '' };
}

/** Since 2025 an invoice names its subscription under `parent`. */
function subscriptionOf(invoice: Json): string | null {
  return (
    idAt(invoice, 'subscription') ?? idAt(objectAt(objectAt(invoice, 'parent'), 'subscription_details'), 'subscription')
  );
}

/** The state of a subscription, from an event or from the API; null if it is none. */
export function stateOf(subscription: unknown): SubscriptionState | null {
  if (!isObject(subscription) || subscription['object'] !== 'subscription') return null;
  const subscriptionId = textAt(subscription, 'id', ID);
  const status = STATUSES.find((known) => known === subscription['status']);
  if (subscriptionId === null || status === undefined) return null;
  const items = objectAt(subscription, 'items')['data'];
  const prices = (Array.isArray(items) ? items : []).map((item) => (isObject(item) ? idAt(item, 'price') : null));
  return {
    subscriptionId,
    customerId: idAt(subscription, 'customer') ?? '',
    status,
    priceIds: prices.filter((price) => price !== null),
    tenantId: textAt(objectAt(subscription, 'metadata'), 'tenant_id', TENANT_ID),
  };
}
