import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MINUTE_MS } from '../base/clock.ts';
import { Plans } from './plans.ts';
import { PLAN_LIMITS, tighter } from './rate-classes.ts';
import { RateLimiter, RESOLUTION_MS, SHARED_INTERVAL_MS } from './rate-limiter.ts';

const START = 1_794_715_860_000 - (1_794_715_860_000 % MINUTE_MS);

test('counts down, refuses beyond the limit, and gives each place back after a minute', () => {
  const limiter = new RateLimiter();
  const states = Array.from({ length: 4 }, (_, i) => limiter.take('a', 3, START + i * 1000));
  assert.deepEqual(
    states.map((s) => [s.remaining, s.isExceeded]),
    [
      [2, false],
      [1, false],
      [0, false],
      [0, true],
    ],
  );
  assert.equal(states[2]?.resetSeconds, (START + 2000 + MINUTE_MS) / 1000, 'then all three are free again');
  assert.equal(states[3]?.resetSeconds, states[2]?.resetSeconds, 'what is refused is not counted');
  assert.equal(states[3]?.retryAfterSeconds, 57);
  assert.equal(limiter.take('b', 3, START + 5).remaining, 2);
  assert.equal(limiter.take('a', 3, START + MINUTE_MS - 1).isExceeded, true);
  assert.equal(limiter.take('a', 3, START + MINUTE_MS).isExceeded, false);
  assert.equal(limiter.take('a', 3, START + MINUTE_MS).isExceeded, true, 'one place was free');
  assert.equal(limiter.take('a', 3, START + 3 * MINUTE_MS).remaining, 2);
});

test('looking counts nothing', () => {
  const limiter = new RateLimiter();
  assert.equal(limiter.peek('a', 2, START).remaining, 2);
  limiter.take('a', 2, START);
  for (let i = 0; i < 5; i++) assert.equal(limiter.peek('a', 2, START).remaining, 1);
});

/** Times of requests, often close together and often about a minute apart. */
const times = fc
  .array(fc.oneof(fc.nat(3), fc.nat(2000), fc.integer({ min: 55_000, max: 65_000 })), { maxLength: 400 })
  .map((gaps) => {
    let at = START;
    return gaps.map((gap) => {
      at += gap;
      return at;
    });
  });

test('no span of a minute lets more than the limit pass, and a caller who obeys it is never refused', () => {
  fc.assert(
    fc.property(times, fc.integer({ min: 1, max: 40 }), (at, limit) => {
      const limiter = new RateLimiter();
      const passed: number[] = [];
      for (const now of at) {
        const { isExceeded, retryAfterSeconds } = limiter.take('a', limit, now);
        const inSpan = passed.filter((time) => time > now - MINUTE_MS).length;
        assert.equal(isExceeded, inSpan >= limit, 'exactly when a minute that ends now is full');
        if (isExceeded) {
          const freeAt = (passed.at(-limit) as number) + MINUTE_MS;
          assert.equal(retryAfterSeconds, Math.ceil((freeAt - now) / 1000));
        } else passed.push(now);
      }
    }),
  );
});

test('a high limit counts by grains: it never lets too many pass, and counts no request for a grain longer than a minute', () => {
  const limit = 1001;
  fc.assert(
    fc.property(fc.array(fc.nat(150), { minLength: 2000, maxLength: 3000 }), (gaps) => {
      const limiter = new RateLimiter();
      const passed: number[] = [];
      let now = START;
      for (const gap of gaps) {
        now += gap;
        const { isExceeded } = limiter.take('a', limit, now);
        const within = (span: number) => (passed.at(-limit) ?? 0) > now - span;
        if (within(MINUTE_MS)) assert.equal(isExceeded, true);
        if (!within(MINUTE_MS + RESOLUTION_MS)) assert.equal(isExceeded, false);
        if (!isExceeded) passed.push(now);
      }
    }),
    { numRuns: 20 },
  );
});

test('a clock set back far does not freeze a counter, and a little lets nobody begin anew', () => {
  const limiter = new RateLimiter();
  limiter.take('a', 1, START + 10 * MINUTE_MS);
  assert.equal(limiter.take('a', 1, START + 10 * MINUTE_MS - 1000).isExceeded, true);
  assert.equal(limiter.take('a', 1, START).isExceeded, false);
});

test('what other nodes let pass is added, and leaves again; it is told to them once a span is over', () => {
  const [one, other] = [new RateLimiter(), new RateLimiter()];
  const exchange = (now: number) => {
    const { keys, counts } = one.countsToShare(now);
    one.markShared(counts, now);
    for (const key of keys) other.setOtherNodes(key, counts);
    return counts.map(({ key, start, used }) => [key, start - START, used]);
  };
  other.take('a', 10, START);
  for (let i = 0; i < 8; i++) one.take('a', 10, START + 1000);
  one.take('rare', 1000, START);
  assert.deepEqual(exchange(START + 1500), [['a', 0, 8]]);
  assert.equal(other.take('a', 10, START + 2000).remaining, 0);
  const refused = other.take('a', 10, START + 2000);
  assert.deepEqual(
    [refused.isExceeded, refused.retryAfterSeconds],
    [true, 58],
    'its own first request is the first to leave',
  );
  one.take('a', 10, START + 4000);
  assert.deepEqual(exchange(START + 5500), [['a', 0, 9]], 'the whole span, since it went on');
  assert.deepEqual(exchange(START + 6500), []);
  other.setOtherNodes('a', [{ start: START, used: 9 }]);
  assert.equal(other.peek('a', 10, START + MINUTE_MS + SHARED_INTERVAL_MS - 1).remaining, 1);
  assert.equal(other.peek('a', 10, START + MINUTE_MS + SHARED_INTERVAL_MS).remaining, 10);
});

test('a flood of keys costs bounded memory', () => {
  const limiter = new RateLimiter();
  for (let i = 0; i < 100_000; i++) limiter.take(`k${i}`, 5, START);
  for (let i = 0; i < 5; i++) assert.equal(limiter.take(`new${i}`, 5, START).isExceeded, false);
  assert.equal(limiter.take('yet another', 5, START).isExceeded, true, 'newcomers share one counter');
  assert.equal(limiter.take('later', 5, START + MINUTE_MS).remaining, 4, 'until those before them are gone');
});

test('limits come from the plan, the operator may override them, tokens only tighten', () => {
  const plans = new Plans();
  assert.equal(plans.of('starter').rates.read, 1000);
  assert.equal(plans.of('professional').rates.read, 10_000);
  plans.use({ starter: { quotas: { vaults: 3, users: null }, rates: { write: 7 } } });
  assert.deepEqual(plans.of('starter').rates, { read: 1000, write: 7, rotate: 10, aggregate: 500 });
  assert.equal(plans.of('starter').quotas.vaults, 3);
  assert.equal(plans.of('starter').quotas.users, Infinity);
  assert.equal(plans.of('professional').quotas.vaults, 100);
  plans.use({});
  assert.equal(plans.of('starter').rates.write, 100);
  assert.deepEqual(PLAN_LIMITS.starter, { read: 1000, write: 100, rotate: 10, aggregate: 500 });
  assert.deepEqual(tighter({ read: 5 }, { read: 9, write: 3 }), { read: 5, write: 3 });
});
