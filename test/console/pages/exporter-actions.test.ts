import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportersTexts } from '../../../console/src/exporters/texts.ts';
import { DECLARATIONS } from '../../../server/src/tools/declarations.ts';

test('each action that the form of an exporter offers is one that the audit log records', () => {
  const recorded = new Set<string>(DECLARATIONS.map(({ audit }) => audit));
  for (const filter of Object.keys(exportersTexts.actions)) {
    const isRecorded = filter.endsWith('*')
      ? [...recorded].some((action) => action.startsWith(filter.slice(0, -1)))
      : recorded.has(filter);
    assert.ok(isRecorded, filter);
  }
});
