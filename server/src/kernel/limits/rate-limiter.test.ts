import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MINUTE_MS } from '../clock.ts';
import { limitFor, PLAN_LIMITS, tighter } from './rate-classes.ts';
import { RateLimiter } from './rate-limiter.ts';

const START = 1_794_715_860_000 - (1_794_715_860_000 % MINUTE_MS);

test('counts down, refuses beyond the limit, and starts anew with the window', () => {
  const limiter = new RateLimiter();
  const states = Array.from({ length: 4 }, (_, i) => limiter.take('a', 3, START + i));
  assert.deepEqual(
    states.map((s) => [s.remaining, s.isExceeded]),
    [
      [2, false],
      [1, false],
      [0, false],
      [0, true],
    ],
  );
  assert.equal(states[3]?.resetSeconds, (START + MINUTE_MS) / 1000);
  assert.equal(states[3]?.retryAfterSeconds, 60);
  assert.equal(limiter.take('b', 3, START + 5).remaining, 2);
  assert.equal(limiter.take('a', 3, START + MINUTE_MS).remaining, 2);
});

test('a clock set back does not freeze a counter', () => {
  const limiter = new RateLimiter();
  limiter.take('a', 1, START + 10 * MINUTE_MS);
  assert.equal(limiter.take('a', 1, START).isExceeded, false);
});

test('what other nodes counted is added, for the same window only', () => {
  const limiter = new RateLimiter();
  limiter.take('a', 10, START);
  limiter.learn(limiter.windowStart, 'a', 8);
  assert.equal(limiter.take('a', 10, START).remaining, 0);
  limiter.learn(limiter.windowStart - MINUTE_MS, 'a', 100);
  assert.equal(limiter.take('a', 11, START).isExceeded, false);
  assert.deepEqual(limiter.shared(), [{ key: 'a', used: 3 }]);
});

test('a flood of keys costs bounded memory', () => {
  const limiter = new RateLimiter();
  for (let i = 0; i < 100_000; i++) limiter.take(`k${i}`, 5, START);
  for (let i = 0; i < 5; i++) assert.equal(limiter.take(`new${i}`, 5, START).isExceeded, false);
  assert.equal(limiter.take('yet another', 5, START).isExceeded, true, 'newcomers share one counter');
});

test('limits come from the plan, the tenant may override them, tokens only tighten', () => {
  assert.equal(limitFor('read', 'starter', {}), 1000);
  assert.equal(limitFor('read', 'professional', {}), 10_000);
  assert.equal(limitFor('write', 'starter', { write: 7 }), 7);
  assert.deepEqual(PLAN_LIMITS.starter, { read: 1000, write: 100, rotate: 10, aggregate: 500 });
  assert.deepEqual(tighter({ read: 5 }, { read: 9, write: 3 }), { read: 5, write: 3 });
});
