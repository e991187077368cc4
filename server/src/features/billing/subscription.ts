import { DAY_MS } from '../../kernel/base/clock.ts';
import { PLANS, type Plan } from '../../kernel/limits/rate-classes.ts';
import { STATUSES, type StripeStatus, type SubscriptionRow } from './store.ts';

/** How long a tenant keeps its plan after a payment was due. */
export const GRACE_MS = 14 * DAY_MS;

/** What is known about a subscription at a time. */
export interface NewState {
  status: StripeStatus;
  /** Undefined if the event names no known price: the plan then stays, since a price that is missing in the settings is no reason to take a paid plan away. */
  plan?: Plan | undefined;
  customerId?: string;
  at: number;
}

const OVERDUE: ReadonlySet<string> = new Set<StripeStatus>(['past_due', 'unpaid']);
const ENDED: ReadonlySet<string> = new Set<StripeStatus>(['canceled', 'incomplete_expired']);

export type Decision = { row: SubscriptionRow; outcome: 'applied' } | { row: null; outcome: 'older' | 'ended' };

/**
 * The row after an event. Events arrive in any order, so the newest state wins. Stripe's times are whole seconds: of two states of the same second,
 * the one that comes later in the life of a subscription wins. One that has ended never comes back.
 */
export function decide(row: SubscriptionRow, state: NewState, now: number): Decision {
  if (ENDED.has(row.status) && !ENDED.has(state.status)) return { row: null, outcome: 'ended' };
  const isOlder = state.at < row.state_at || (state.at === row.state_at && rank(state.status) < rank(row.status));
  if (isOlder) return { row: null, outcome: 'older' };
  const isDue = isOverdue(state);
  // Once the grace is over, only a payment ends that.
  const status = isDue && row.status === 'lapsed' ? 'lapsed' : state.status;
  return {
    outcome: 'applied',
    row: {
      ...row,
      status,
      customer_id: state.customerId || row.customer_id,
      plan: state.plan ?? row.plan,
      state_at: state.at,
      grace_until: status === 'lapsed' || !isDue ? null : (row.grace_until ?? state.at + GRACE_MS),
      updated_at: now,
    },
  };
}

/** Whether an invoice of a subscription was paid. */
export interface Payment {
  isPaid: boolean;
  at: number;
}

/**
 * The row after an event about an invoice. A subscription has invoices for other things than its price, so an invoice never changes the status:
 * Stripe sends an event about the subscription itself for that. One that was not paid starts the grace; one that was paid ends a grace that only
 * such an invoice had started.
 */
export function decidePayment(
  row: SubscriptionRow,
  { isPaid, at }: Payment,
  now: number,
): Decision | { row: null; outcome: 'recorded' } {
  const isGood = row.status === 'active' || row.status === 'trialing';
  if (!isGood && !isOverdue(row)) return { row: null, outcome: 'recorded' };
  if (at < row.state_at) return { row: null, outcome: 'older' };
  const startedAt = row.grace_until === null ? null : row.grace_until - GRACE_MS;
  if (isPaid) {
    if (!isGood || startedAt === null) return { row: null, outcome: 'recorded' };
    if (at < startedAt) return { row: null, outcome: 'older' };
    return { outcome: 'applied', row: { ...row, grace_until: null, updated_at: now } };
  }
  if (startedAt !== null) return { row: null, outcome: 'recorded' };
  return { outcome: 'applied', row: { ...row, grace_until: at + GRACE_MS, updated_at: now } };
}

export function isOverdue({ status }: Pick<SubscriptionRow, 'status'>): boolean {
  return OVERDUE.has(status);
}

function rank(status: SubscriptionRow['status']): number {
  return status === 'lapsed' ? rank('unpaid') : STATUSES.indexOf(status);
}

/** The plan that a subscription gives. An overdue one gives it until a job ends its grace. */
export function planGiven({ status, plan, grace_until }: SubscriptionRow): Plan | null {
  if (status === 'active' || status === 'trialing') return plan;
  return isOverdue({ status }) && grace_until !== null ? plan : null;
}

/** The highest plan of a tenant: its own without a subscription, or one that is paid for. */
export function effectivePlan(base: Plan, subscriptions: readonly SubscriptionRow[]): Plan {
  const given = subscriptions.map(planGiven).filter((plan) => plan !== null);
  return [base, ...given].reduce((best, plan) => (PLANS.indexOf(plan) > PLANS.indexOf(best) ? plan : best));
}

/** The plan of the highest price that is known. */
export function planOfPrices(prices: readonly string[], plans: ReadonlyMap<string, Plan>): Plan | null {
  const known = prices.map((price) => plans.get(price)).filter((plan) => plan !== undefined);
  return known.reduce<Plan | null>(
    (best, plan) => (best !== null && PLANS.indexOf(best) >= PLANS.indexOf(plan) ? best : plan),
    null,
  );
}
