import assert from 'node:assert/strict';
import { test } from 'node:test';
import { median, quantile, robustLine } from './statistics.ts';

test('a quantile is one of the values, from the least to the greatest', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
  assert.equal(quantile(hundred, 0), 1);
  assert.equal(quantile(hundred, 0.5), 51);
  assert.equal(quantile(hundred, 0.99), 100);
  assert.equal(quantile(hundred, 1), 100);
  assert.equal(quantile([], 0.5), 0);
});

test('a median does not mind the order, and leaves it alone', () => {
  const values = [9, 1, 5];
  assert.equal(median(values), 5);
  assert.deepEqual(values, [9, 1, 5]);
});

test('a line goes through points on it, and is not bent by a quarter of wild ones', () => {
  const points = Array.from({ length: 20 }, (_, at) => ({ at, value: at % 4 === 3 ? 10_000 : 100 + 2 * at }));
  const line = robustLine(points);
  assert.ok(Math.abs(line.slope - 2) < 0.5, `slope ${line.slope}`);
  const straight = robustLine(points.filter(({ value }) => value < 10_000));
  assert.equal(straight.slope, 2);
  assert.equal(straight.at(50), 200);
});

test('points at one time have no slope', () => {
  assert.equal(
    robustLine([
      { at: 1, value: 1 },
      { at: 1, value: 9 },
    ]).slope,
    0,
  );
});
