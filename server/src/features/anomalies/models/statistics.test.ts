import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mean, median, quantile, robustZ } from './statistics.ts';

test('known values', () => {
  assert.equal(mean([1, 2, 3, 6]), 3);
  assert.equal(median([5, 1, 3]), 3);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.equal(
    quantile(
      Array.from({ length: 100 }, (_, i) => i + 1),
      0.95,
    ),
    95,
  );
  assert.equal(quantile([7], 0.95), 7);
});

test('a robust z takes the median deviation, then the mean deviation, then the floor', () => {
  assert.ok(Math.abs(robustZ(20, [9, 10, 10, 11, 12, 8, 10], 0.1) - (10 * 0.6745) / 1) < 1e-9);
  const mostlyEqual = [0, 0, 0, 0, 0, 0, 0, 0, 0, 10];
  assert.ok(Math.abs(robustZ(5, mostlyEqual, 0.1) - 5 / (1 / 0.7979)) < 1e-9);
  assert.equal(robustZ(6, [0, 0, 0, 0], 2), 3, 'nothing ever happened: the floor decides');
});

test('a quantile is one of the values, and at least its share is not above it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(1000), { minLength: 1, maxLength: 200 }),
      fc.double({ min: 0.01, max: 1, noNaN: true }),
      (values, share) => {
        const found = quantile(values, share);
        assert.ok(values.includes(found));
        assert.ok(values.filter((value) => value <= found).length >= Math.ceil(share * values.length));
      },
    ),
  );
});
