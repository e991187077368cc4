import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ATTEMPTS_MAX, nextAttemptAt } from './retry-schedule.ts';

const NOW = 1_000_000;
const facts = { now: NOW, retryAfterMs: null, random: 0 };

test('the waits grow from five seconds to a day, over ten attempts', () => {
  const waits = Array.from({ length: ATTEMPTS_MAX }, (_, i) => nextAttemptAt(i + 1, facts));
  assert.deepEqual(
    waits.map((at) => (at === null ? null : (at - NOW) / 1000)),
    [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400, null],
  );
});

test('attempts that failed together are spread', () => {
  assert.equal(nextAttemptAt(2, { ...facts, random: 1 }), NOW + 330_000);
});

test('a receiver may ask for more patience, not for less, and not for ever', () => {
  assert.equal(nextAttemptAt(1, { ...facts, retryAfterMs: 60_000 }), NOW + 60_000);
  assert.equal(nextAttemptAt(2, { ...facts, retryAfterMs: 1000 }), NOW + 300_000);
  assert.equal(nextAttemptAt(1, { ...facts, retryAfterMs: 999_999_000 }), NOW + 86_400_000);
});
