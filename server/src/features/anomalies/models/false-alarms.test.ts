import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLikeDismissed } from './false-alarms.ts';

test('without anything dismissed, nothing is like it', () => {
  assert.equal(isLikeDismissed([1, 2], []), false);
  assert.equal(isLikeDismissed([1, 2], [[1]]), false, 'features of another length are not compared');
});

test('one dismissed finding covers what is near to it', () => {
  assert.equal(isLikeDismissed([10.4], [[10]]), true);
  assert.equal(isLikeDismissed([10.6], [[10]]), false);
  assert.equal(isLikeDismissed([], [[]]), true, 'findings without features differ by their class alone');
});

test('dismissed findings that are apart cover more, up to a bound', () => {
  assert.equal(isLikeDismissed([10.7], [[10], [9.2]]), true, 'as near as their distance of 0.8');
  assert.equal(isLikeDismissed([10.9], [[10], [9.2]]), false);
  assert.equal(isLikeDismissed([15], [[10], [20]]), false, 'two far ones do not hide everything in between');
});
