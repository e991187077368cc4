import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suggestion } from './suggestion.ts';

const KNOWN = ['list', 'ls', 'get', 'set', 'restore', 'rollback', 'rotate', 'history', 'find'];

test('a mistyped word suggests the one that it is nearest to', () => {
  for (const [typed, meant] of [
    ['lst', 'list'],
    ['lsit', 'list'],
    ['LIST', 'list'],
    ['rotat', 'rotate'],
    ['hisotry', 'history'],
    ['rollbak', 'rollback'],
  ] as const)
    assert.equal(suggestion(typed, KNOWN), meant, typed);
});

test('a word that is near to nothing suggests nothing', () => {
  for (const typed of ['', 'nonsense', 'db/password', 'x', 'update', 'swordfish-and-more-of-it'])
    assert.equal(suggestion(typed, KNOWN), null, typed);
});
