import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SettingGroup } from '../settings/setting-group.ts';
import { FEATURES } from './features.ts';
import { FEATURE_SETTINGS } from './settings.ts';

const namesIn = (groups: readonly SettingGroup[]) => groups.flatMap(({ settings }) => settings.map(({ name }) => name));

test('the settings that features declare are those that are read', () => {
  const declared = FEATURES.flatMap(({ name, settings }) => settings.map((group) => ({ name, group })));
  assert.equal(new Set(declared.map(({ group }) => group)).size, declared.length, 'a group belongs to one feature');
  const groups = declared.map(({ group }) => group);
  const unread = namesIn(groups.filter((group) => !FEATURE_SETTINGS.includes(group)));
  assert.deepEqual(unread, [], 'add the group of these settings to FEATURE_SETTINGS in assembly/settings.ts');
  const undeclared = namesIn(FEATURE_SETTINGS.filter((group) => !groups.includes(group)));
  assert.deepEqual(
    undeclared,
    [],
    'name the group of these settings under `settings` in the feature.ts of its feature',
  );
});
