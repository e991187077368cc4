import { readFile } from 'node:fs/promises';
import { timestampOrNull } from '../../kernel/base/clock.ts';
import { CofferError, unavailable } from '../../kernel/base/errors.ts';
import { findTenant, isTenantThere } from '../../kernel/integrity/tenant-rows.ts';
import { lockCounter } from '../../kernel/limits/counters.ts';
import type { Context } from '../../kernel/request/context.ts';
import { limitFailures } from '../../kernel/request/request-limits.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { JsonError, parseJson } from '../../kernel/wire/json.ts';
import { lockTenant, updateTenant } from '../tenants/index.ts';
import { type BillingEvent, type Fact, parseEvent, type SubscriptionState } from './event.ts';
import { type StripeConfig, signingSecrets, stripeSettings } from './settings.ts';
import { isSignedBy } from './signature.ts';
import * as store from './store.ts';
import { fetchSubscription } from './stripe-api.ts';
import { decide, decidePayment, effectivePlan, type NewState, type Payment, planOfPrices } from './subscription.ts';

const RECEIVED = { received: true };
/** The tenant is in an event before the event is applied; another event may say in between whose the subscription is. */
const CHANGED_MEANWHILE = 'The subscription changed meanwhile: the event will be accepted again.';

/** Receives one event. Whatever happens before the commit, Stripe sends the event again; after it, the event is known. */
export async function receiveEvent(ctx: Context): Promise<typeof RECEIVED> {
  const { kernel } = ctx;
  const stripe = kernel.config.of(stripeSettings);
  if (stripe === null) throw new CofferError('NOT_FOUND', 'This installation has no billing.');
  ctx.record.setResource('billing');
  ctx.caller.identify(kernel.operatorTenantId, { kind: 'anonymous', id: '', name: '', key: '' });
  await requireSignature(ctx, stripe);
  ctx.caller.identify(kernel.operatorTenantId, { kind: 'system', id: 'stripe', name: '', key: '' });
  const event = eventIn(ctx.rawBody);
  ctx.record.describe({ event: event.id, type: event.type });
  const isKnown = await store.hasEvent(ctx.database.read, kernel.operatorTenantId, event.id);
  const plan = isKnown ? null : await planChange(ctx, stripe, event);
  const headKey = plan?.tenantId ? await kernel.audit.headKey(plan.tenantId) : null;
  return ctx.change(async (tx) => {
    await lockCounter(tx, ctx.tenantId, 'billing events');
    const row: store.BillingEventRow = {
      tenant_id: ctx.tenantId,
      event_id: event.id,
      type: event.type,
      subject_tenant_id: plan?.tenantId ?? null,
      outcome: 'recorded',
      event_at: event.at,
      received_at: ctx.now,
    };
    if (!(await store.insertEvent(tx, row))) {
      ctx.record.describe({ outcome: 'repeated' });
      return RECEIVED;
    }
    if (plan === null) throw unavailable(CHANGED_MEANWHILE);
    const outcome = await apply(ctx, tx, plan);
    await store.setOutcome(tx, row, { outcome, subject_tenant_id: plan.tenantId });
    ctx.record.describe({ outcome, ...(plan.tenantId !== null && { tenant: plan.tenantId }) });
    const isInLogOfTenant = headKey !== null && plan.tenantId !== null && plan.tenantId !== ctx.tenantId;
    if (isInLogOfTenant) await kernel.audit.recordIn(tx, [ctx.record.entryFor(plan.tenantId as string)], headKey);
    return RECEIVED;
  });
}

async function requireSignature(ctx: Context, stripe: StripeConfig): Promise<void> {
  const header = ctx.call.headers['stripe-signature'];
  const secrets = await secretsOf(stripe);
  const text = typeof header === 'string' ? header : '';
  if (isSignedBy(secrets, { header: text, body: ctx.rawBody, now: ctx.now })) return;
  limitFailures(ctx);
  throw new CofferError('INVALID_TOKEN', 'The Stripe-Signature header is missing, wrong, or older than 300 seconds.', {
    auditReason: 'wrong signature of a billing event',
  });
}

/** A file is read for each event, so that a secret can be rotated while the service runs. */
export async function secretsOf({ secrets }: StripeConfig): Promise<readonly string[]> {
  if (!('file' in secrets)) return secrets;
  const found = signingSecrets.parse((await readFile(secrets.file, 'utf8')).trim());
  if (found === undefined) throw unavailable(`CV_STRIPE_WEBHOOK_SECRET_FILE must contain ${signingSecrets.expects}.`);
  return found;
}

function eventIn(body: Buffer): BillingEvent {
  try {
    const event = parseEvent(parseJson(body));
    if (event !== null) return event;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
  }
  throw new CofferError('INVALID_REQUEST', 'The body is not an event of Stripe.');
}

/** What an event changes, as far as it is known before the transaction. */
interface PlannedChange {
  /** Whose subscription it is; null if that is not known yet, or if the event is about none. */
  tenantId: string | null;
  /** A tenant that does not exist, or not yet: the subscription waits for its sign-up to be verified. */
  claimedBy: string | null;
  subscriptionId: string | null;
  change: { state: NewState; isKnownPrice: boolean } | { payment: Payment } | null;
  /** Why nothing changes. */
  reason: 'recorded' | 'unknown_tenant' | 'other_tenant';
}

const NOTHING: PlannedChange = {
  tenantId: null,
  claimedBy: null,
  subscriptionId: null,
  change: null,
  reason: 'recorded',
};

async function planChange(ctx: Context, stripe: StripeConfig, { fact, at }: BillingEvent): Promise<PlannedChange> {
  if (fact === null) return NOTHING;
  const subscriptionId = fact.kind === 'state' ? fact.state.subscriptionId : fact.subscriptionId;
  const known = await store.findSubscription(ctx.database.read, subscriptionId);
  const startedAt = ctx.kernel.clock.now();
  const fetched = stripe.apiKey === null ? null : await fetchSubscription(ctx.kernel, stripe, subscriptionId);
  const named = tenantNamedBy(fact) ?? fetched?.tenantId ?? null;
  const owner = known === undefined || known.tenant_id === ctx.tenantId ? null : known.tenant_id;
  // Whose it is was said first by an event that was signed; a later one cannot give it to somebody else.
  if (owner !== null && named !== null && named !== owner)
    return { ...NOTHING, subscriptionId, reason: 'other_tenant' };
  const tenantId = owner ?? named;
  const tenant = tenantId === null ? undefined : await findTenant(ctx.database.read, tenantId);
  const change = changeOf(stripe, fact, at, fetched && { state: fetched, at: startedAt });
  if (tenantId !== null && (tenant === undefined || tenant.is_operator === 1)) {
    const claimedBy = tenant === undefined && owner === null ? tenantId : null;
    return { ...NOTHING, claimedBy, subscriptionId, change, reason: 'unknown_tenant' };
  }
  return { ...NOTHING, tenantId, subscriptionId, change };
}

function tenantNamedBy(fact: Fact): string | null {
  if (fact.kind === 'payment') return null;
  return fact.kind === 'link' ? fact.tenantId : fact.state.tenantId;
}

function changeOf(
  stripe: StripeConfig,
  fact: Fact,
  at: number,
  fetched: { state: SubscriptionState; at: number } | null,
): PlannedChange['change'] {
  const told = fetched ?? (fact.kind === 'state' ? { state: fact.state, at } : null);
  if (told !== null) {
    const plan = planOfPrices(told.state.priceIds, stripe.plans);
    const { status, customerId } = told.state;
    return { state: { status, plan: plan ?? undefined, customerId, at: told.at }, isKnownPrice: plan !== null };
  }
  return fact.kind === 'payment' ? { payment: { isPaid: fact.isPaid, at } } : null;
}

/** Applies a change to the subscription and the plan of its tenant; returns what became of the event. */
async function apply(ctx: Context, tx: Tx, planned: PlannedChange): Promise<string> {
  const { tenantId, claimedBy, subscriptionId, change, reason } = planned;
  if (subscriptionId === null || (reason !== 'recorded' && claimedBy === null)) return reason;
  // Its sign-up was verified since the event was read, and has not found the subscription.
  if (claimedBy !== null && (await isTenantThere(tx, claimedBy))) throw unavailable(CHANGED_MEANWHILE);
  const before = await store.lockSubscription(tx, subscriptionId);
  const owner = before === undefined || before.tenant_id === ctx.tenantId ? null : before.tenant_id;
  if (owner !== null && owner !== tenantId) throw unavailable(CHANGED_MEANWHILE);
  const home = tenantId ?? ctx.tenantId;
  const current = before ?? newRow(home, subscriptionId, ctx.now);
  const decision = decisionOn(change, current, ctx.now);
  const claimed_tenant_id = tenantId === null ? (claimedBy ?? current.claimed_tenant_id) : null;
  const row = { ...(decision?.row ?? current), tenant_id: home, claimed_tenant_id };
  const isMoved = before?.tenant_id !== home || before.claimed_tenant_id !== claimed_tenant_id;
  const outcome =
    isMoved && (decision === null || decision.outcome === 'recorded') ? 'applied' : (decision?.outcome ?? 'recorded');
  if (outcome !== 'applied' && !isMoved) return reason === 'recorded' ? outcome : reason;
  await store.putSubscription(tx, row, before);
  if (tenantId !== null) ctx.record.describe(await settlePlan(tx, tenantId));
  if (change !== null && 'isKnownPrice' in change && !change.isKnownPrice) {
    ctx.kernel.log.warn(
      { subscription: subscriptionId },
      'a subscription has a price that CV_STRIPE_PRICES does not name',
    );
    return 'unknown_price';
  }
  return reason === 'recorded' ? outcome : reason;
}

function newRow(tenantId: string, subscriptionId: string, now: number): store.SubscriptionRow {
  return {
    tenant_id: tenantId,
    subscription_id: subscriptionId,
    customer_id: '',
    status: 'incomplete',
    plan: null,
    state_at: 0,
    grace_until: null,
    updated_at: now,
    claimed_tenant_id: null,
  };
}

function decisionOn(change: PlannedChange['change'], row: store.SubscriptionRow, now: number) {
  if (change === null) return null;
  return 'state' in change ? decide(row, change.state, now) : decidePayment(row, change.payment, now);
}

/** Gives the tenant the plan that its subscriptions give, or the one it has without them. Returns what the audit log says about it. */
export async function settlePlan(tx: Tx, tenantId: string): Promise<Record<string, unknown>> {
  const subscriptions = await store.subscriptionsOf(tx, tenantId);
  const tenant = await lockTenant(tx, tenantId);
  if (tenant === undefined) return {};
  const base = tenant.base_plan ?? tenant.plan;
  const plan = effectivePlan(base, subscriptions);
  if (plan !== tenant.plan || tenant.base_plan !== base) {
    await updateTenant(tx, tenantId, { plan, base_plan: base });
    await raiseEpoch(tx, tenantId);
  }
  return { plan: { before: tenant.plan, after: plan }, grace_until: timestampOrNull(graceOf(subscriptions)) };
}

/** Gives a new tenant the subscriptions that were bought for it while its sign-up was not verified. */
export async function claimSubscriptions(ctx: Context, tx: Tx, tenantId: string): Promise<void> {
  const { config, operatorTenantId } = ctx.kernel;
  if (config.of(stripeSettings) === null) return;
  await lockCounter(tx, operatorTenantId, 'billing events');
  const claimed = await store.lockClaimed(tx, operatorTenantId, tenantId);
  for (const row of claimed)
    await store.putSubscription(tx, { ...row, tenant_id: tenantId, claimed_tenant_id: null, updated_at: ctx.now }, row);
  if (claimed.length > 0) ctx.record.describe(await settlePlan(tx, tenantId));
}

/** The first end of a grace among those that still give a plan. */
export function graceOf(subscriptions: readonly store.SubscriptionRow[]): number | null {
  const ends = subscriptions.map(({ grace_until }) => grace_until).filter((end) => end !== null);
  return ends.length === 0 ? null : Math.min(...ends);
}
