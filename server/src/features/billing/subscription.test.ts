import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseEvent } from './event.ts';
import { STATUSES, type SubscriptionRow } from './store.ts';
import { decide, effectivePlan, GRACE_MS, planGiven, planOfPrices } from './subscription.ts';

const ROW: SubscriptionRow = {
  tenant_id: 'tenant_1',
  subscription_id: 'sub_1',
  customer_id: 'cus_1',
  status: 'incomplete',
  plan: null,
  state_at: 0,
  grace_until: null,
  updated_at: 0,
  claimed_tenant_id: null,
};

test('whatever the order of events, the newest state is the one that is left', () => {
  const states = fc.uniqueArray(
    fc.record({
      status: fc.constantFrom(...STATUSES.filter((one) => !['canceled', 'incomplete_expired'].includes(one))),
      at: fc.integer({ min: 1, max: 50 }),
    }),
    { minLength: 1, selector: ({ at }) => at },
  );
  fc.assert(
    fc.property(states, fc.infiniteStream(fc.nat()), (events, random) => {
      const shuffled = events.map((event) => [random.next().value as number, event] as const).sort(([a], [b]) => a - b);
      let row = ROW;
      for (const [, { status, at }] of shuffled) row = decide(row, { status, at, plan: 'professional' }, 0).row ?? row;
      const newest = events.reduce((best, event) => (event.at > best.at ? event : best));
      assert.deepEqual([row.status, row.state_at], [newest.status, newest.at]);
    }),
  );
});

test('of two states of the same second, the later in the life of a subscription stays; what has ended stays ended', () => {
  const active = decide(ROW, { status: 'active', plan: 'professional', at: 5 }, 0).row ?? ROW;
  assert.equal(decide(active, { status: 'incomplete', at: 5 }, 0).outcome, 'older');
  const ended = decide(active, { status: 'canceled', at: 9 }, 0).row ?? ROW;
  assert.equal(decide(ended, { status: 'active', at: 99 }, 0).outcome, 'ended');
  assert.equal(planGiven(ended), null);
});

test('the grace starts once, ends with a payment, and is not given twice', () => {
  const active = { ...ROW, status: 'active', plan: 'professional', state_at: 1 } as const;
  const due = decide(active, { status: 'past_due', at: 10 }, 0).row ?? ROW;
  assert.deepEqual([due.grace_until, planGiven(due)], [10 + GRACE_MS, 'professional']);
  const unpaid = decide(due, { status: 'unpaid', at: 20 }, 0).row ?? ROW;
  assert.equal(unpaid.grace_until, due.grace_until);
  const paid = decide(unpaid, { status: 'active', at: 30 }, 0).row ?? ROW;
  assert.deepEqual([paid.grace_until, planGiven(paid)], [null, 'professional']);
  const lapsed = { ...unpaid, status: 'lapsed', grace_until: null } as const;
  const still = decide(lapsed, { status: 'past_due', at: 40 }, 0).row ?? ROW;
  assert.deepEqual([still.status, planGiven(still)], ['lapsed', null]);
  assert.equal(decide(still, { status: 'active', at: 50 }, 0).row?.status, 'active');
});

test('the plan is the highest of what is paid for and what the tenant has anyway', () => {
  const row = { ...ROW, status: 'active', plan: 'professional' } as const;
  assert.equal(effectivePlan('starter', [row, { ...row, plan: 'enterprise', status: 'canceled' }]), 'professional');
  assert.equal(effectivePlan('enterprise', [row]), 'enterprise');
  assert.equal(effectivePlan('starter', [{ ...row, plan: null }]), 'starter');
  const prices = new Map([
    ['a', 'professional'],
    ['b', 'enterprise'],
  ] as const);
  assert.equal(planOfPrices(['x', 'a', 'b'], prices), 'enterprise');
  assert.equal(planOfPrices(['x'], prices), null);
});

test('text that is no event is none, and an event of another shape has no fact', () => {
  const base = { id: 'evt_1', object: 'event', type: 'customer.subscription.updated', created: 1 };
  for (const wrong of [
    null,
    [],
    'x',
    {},
    { ...base, object: 'x' },
    { ...base, id: '../x' },
    { ...base, created: '1' },
  ]) {
    assert.equal(parseEvent(wrong), null);
  }
  fc.assert(
    fc.property(fc.anything(), (object) => assert.equal(parseEvent({ ...base, data: { object } })?.fact, null)),
  );
});
