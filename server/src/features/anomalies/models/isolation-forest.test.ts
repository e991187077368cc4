import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IsolationForest } from './isolation-forest.ts';
import { seededRandom } from './seeded-random.ts';

function cloud(random: () => number, count: number): number[][] {
  return Array.from({ length: count }, () => [10 + random(), 20 + random(), 5 + random()]);
}

test('a point far from the others scores high, one among them does not', () => {
  const random = seededRandom(1);
  const [near, far, farther] = [
    [10.5, 20.5, 5.5],
    [40, 20.5, 5.5],
    [100, 100, 100],
  ] as const;
  const forest = new IsolationForest([...cloud(random, 250), far, farther], random);
  assert.ok(forest.score(near) < 0.5);
  assert.ok(forest.score(far) > 0.6);
  assert.ok(forest.score(farther) > 0.75);
});

test('the same seed gives the same scores', () => {
  const scores = [7, 7, 8].map((seed) => {
    const random = seededRandom(seed);
    return new IsolationForest(cloud(random, 300), random).score([11, 21, 7]);
  });
  assert.equal(scores[0], scores[1]);
  assert.notEqual(scores[0], scores[2]);
});

test('equal points, one point and two points are all alike', () => {
  for (const points of [
    [[1, 1]],
    [
      [1, 1],
      [1, 1],
    ],
    Array.from({ length: 300 }, () => [3, 3]),
  ]) {
    const score = new IsolationForest(points, seededRandom(1)).score([1, 1]);
    assert.ok(score >= 0 && score <= 1, String(score));
  }
});
