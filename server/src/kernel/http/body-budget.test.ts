import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyBudget } from './body-budget.ts';

test('one holder gets its share, all of them the total', () => {
  const budget = new BodyBudget({ totalBytes: 100, shareBytes: 40 });
  assert.equal(budget.take('a', 40), null);
  assert.equal(budget.take('a', 1), 'share');
  assert.equal(budget.take('b', 40), null);
  assert.equal(budget.take('c', 21), 'total');
  assert.equal(budget.take('c', 20), null);
  assert.equal(budget.held, 100);
});

test('what is released can be acquired again, by anybody, and leaves no trace', () => {
  const budget = new BodyBudget({ totalBytes: 50, shareBytes: 50 });
  budget.take('a', 30);
  budget.take('a', 20);
  budget.release('a', 30);
  assert.equal(budget.take('b', 31), 'total');
  assert.equal(budget.take('b', 30), null);
  budget.release('a', 20);
  budget.release('b', 30);
  assert.deepEqual([budget.held, budget.holders], [0, 0]);
});

test('what is refused is not counted', () => {
  const budget = new BodyBudget({ totalBytes: 10, shareBytes: 5 });
  for (let i = 0; i < 100; i++) assert.equal(budget.take(`p${i}`, 6), 'share');
  assert.deepEqual([budget.held, budget.holders], [0, 0]);
});
