import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isGuessable } from './guessable.ts';

test('a value that somebody could find by trying is told from one that nobody guesses', () => {
  for (const value of ['4711', 'short-one', '20260101120000', '+49 151 2345678', 'aaaaaaaaaaaaaaaa', 'Passw0rd2026!'])
    assert.equal(isGuessable(value), true, value);
  for (const value of ['k7Qw2mZx9LpR', 'green door at midnight', '83920174650192837465', 'lantern-of-the-north-4'])
    assert.equal(isGuessable(value), false, value);
});

test('the beginning of a long value decides', () => {
  assert.equal(isGuessable('abc'.repeat(100_000)), true);
  assert.equal(isGuessable(`k7Qw2mZx9LpR-${'a'.repeat(1_000_000)}`), false);
});
