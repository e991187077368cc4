import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const BUILD = join(import.meta.dirname, '..', '..', 'console', 'build.ts');

test('the console is served whole while other services of the checkout build it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-console-'));
  const build = () => promisify(execFile)(process.execPath, [BUILD, 'sources', folder]);
  await build();
  const built = new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
  let isBuilding = true;
  const building = Promise.all([build(), build()]).finally(() => {
    isBuilding = false;
  });
  while (isBuilding) {
    for (const [name, contents] of built) assert.ok(contents.equals(readFileSync(join(folder, name))), name);
    await new Promise(setImmediate);
  }
  await building;
  assert.deepEqual(readdirSync(folder).sort(), [...built.keys()].sort());
  rmSync(folder, { recursive: true });
});
