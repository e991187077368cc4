import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, uptime } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { uptimeReader } from './uptime.ts';

test('the uptime is read anew each time, and grows as the machine runs', () => {
  const read = uptimeReader();
  const [before, between, after] = [uptime() * 1000 - 1000, read(), uptime() * 1000 + 1000];
  assert.ok(before <= between && between <= after, `${before} ${between} ${after}`);
});

test('a machine without the file has the same clock, in whole seconds', () => {
  const [before, between, after] = [uptime() * 1000, uptimeReader('/nowhere/uptime')(), uptime() * 1000];
  assert.ok(before <= between && between <= after);
});

test('what is no number is in no comparison', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-uptime-'));
  try {
    const file = join(folder, 'uptime');
    writeFileSync(file, '12.50 3.00\n');
    const read = uptimeReader(file);
    assert.equal(read(), 12_500);
    writeFileSync(file, '13.00 3.00\n');
    assert.equal(read(), 13_000);
    writeFileSync(file, '');
    assert.ok(Number.isNaN(read()));
    assert.ok(Number.isNaN(uptimeReader(folder)()), 'a folder cannot be read');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
