import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPooled } from './transaction-pooling.ts';

test('sessions that keep a process of their own are not pooled by transaction', () => {
  assert.equal(
    isPooled([
      [1, 2],
      [1, 2],
      [1, 2],
    ]),
    false,
  );
});

test('sessions that share a process, or change it, are', () => {
  const shared = [
    [1, 1],
    [1, 1],
  ];
  const dealtInTurn = [
    [1, 2],
    [3, 1],
  ];
  assert.deepEqual([isPooled(shared), isPooled(dealtInTurn)], [true, true]);
});
