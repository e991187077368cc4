import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FEATURES } from './features.ts';
import { FEATURE_SETTINGS } from './settings.ts';

test('the settings that features declare are those that are read', () => {
  const declared = FEATURES.flatMap(({ name, settings }) => settings.map((group) => ({ name, group })));
  assert.equal(new Set(declared.map(({ group }) => group)).size, declared.length, 'a group belongs to one feature');
  assert.deepEqual(new Set(FEATURE_SETTINGS), new Set(declared.map(({ group }) => group)));
});
