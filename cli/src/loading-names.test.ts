import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

test('the command line and the service have one list of names', () => {
  const read = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8');
  assert.equal(read('loading-names.ts'), read('../../server/src/kernel/base/loading-names.ts'));
});
