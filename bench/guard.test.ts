import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare } from './guard.ts';

const before = [100, 102, 98, 101, 140, 99, 100, 103, 97];
const times = (factor: number) => before.map((micros) => micros * factor);

test('as fast as before, faster, and a little slower pass', () => {
  for (const factor of [0.5, 1, 1.09]) assert.equal(compare({ before, now: times(factor) }).isSlower, false);
});

test('slower by more than a tenth fails, with the ratio', () => {
  const { isSlower, ratio } = compare({ before, now: times(1.12) });
  assert.equal(isSlower, true);
  assert.ok(Math.abs(ratio - 1.12) < 0.001);
});

test('rounds that differ widely accuse nobody, and a few slow ones neither', () => {
  const noisy = [80, 140, 85, 130, 150, 90, 125, 140, 95];
  assert.equal(compare({ before, now: noisy }).isSlower, false);
  const peaks = before.map((micros, round) => (round < 3 ? micros * 3 : micros));
  assert.equal(compare({ before, now: peaks }).isSlower, false);
});

test('what could not be measured does not pass', () => {
  assert.equal(compare({ before, now: before.map(() => Number.NaN) }).isSlower, true);
});
