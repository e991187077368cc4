import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { timestamp } from './clock.ts';

const LAST_DATE_MS = 8.64e15;

test('a timestamp is written as Date writes it, in any order of days', () => {
  const moment = fc.oneof(
    fc.integer({ min: -LAST_DATE_MS, max: LAST_DATE_MS }),
    fc.integer({ min: 1_700_000_000_000, max: 1_800_000_000_000 }),
    fc.constantFrom(0, -1, LAST_DATE_MS, -LAST_DATE_MS, 253_402_300_799_999, 253_402_300_800_000),
  );
  fc.assert(
    fc.property(fc.array(moment), (moments) => {
      assert.deepEqual(
        moments.map(timestamp),
        moments.map((ms) => new Date(ms).toISOString()),
      );
    }),
  );
});

test('what is no moment is refused', () => {
  for (const ms of [Number.NaN, LAST_DATE_MS + 1, Number.POSITIVE_INFINITY])
    assert.throws(() => timestamp(ms), RangeError);
});
