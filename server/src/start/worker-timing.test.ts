import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  CLOSE_MS,
  drainMsAfter,
  KILL_AFTER_MS,
  METRICS_WAIT_MS,
  RAN_WELL_MS,
  restartDelayMs,
  SUPERVISOR_WAIT_MS,
} from './worker-timing.ts';

test('a worker has time to end itself before it is killed, and both end before container runtimes kill', () => {
  assert.ok(KILL_AFTER_MS > CLOSE_MS);
  assert.deepEqual([drainMsAfter('SIGTERM', { drainMs: 7 }), drainMsAfter('SIGINT', { drainMs: 7 })], [7, 0]);
  assert.ok(KILL_AFTER_MS < 30_000);
});

test('a worker waits longer for all metrics than the supervisor does', () => {
  assert.ok(SUPERVISOR_WAIT_MS > METRICS_WAIT_MS);
});

test('the wait doubles with each failure, up to half a minute', () => {
  const longest = [1, 2, 3, 4, 5, 6, 7, 8, 100, 2000].map((failures) => restartDelayMs(failures, 1));
  assert.deepEqual(longest, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000]);
});

test('the wait is never less than half of it, and shorter than a worker must run to have run well', () => {
  const anyFailures = fc.integer({ min: 1, max: 10_000 });
  const anyRandom = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(anyFailures, anyRandom, (failures, random) => {
      const delay = restartDelayMs(failures, random);
      assert.ok(delay >= restartDelayMs(failures, 1) / 2 && delay <= restartDelayMs(failures, 1));
      assert.ok(delay < RAN_WELL_MS);
    }),
  );
});
