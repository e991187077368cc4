import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { CpuProfile } from '../bench/profile-times.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-profile-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const FEW = ['--seconds', '0.5', '--connections', '2', '--folder', folder];

test('a profile of the running service names its rooms, and leaves the samples of its functions', () => {
  const text = execFileSync(process.execPath, ['bench/profile.ts', 'secret', ...FEW], { encoding: 'utf8' });
  assert.match(text, /GET a secret; Coffer, SQLite; 2 connections: \d+\.\d µs of the main thread a request/);
  // Which of them depends on how many requests there was time for.
  assert.match(text, /^ +[\d.]+ +[\d.]+ +[\d.]+ {2}kernel(\/\w+)?$/m);
  const { samples, nodes } = JSON.parse(
    readFileSync(join(folder, 'profile-secret-sqlite.cpuprofile'), 'utf8'),
  ) as CpuProfile;
  assert.ok(nodes.some(({ callFrame }) => /\/kernel\/.+\.ts$/.test(callFrame.url)));
  assert.ok(samples.length > 0);
});

test('a request that does not exist is explained, not profiled', () => {
  assert.throws(() => execFileSync(process.execPath, ['bench/profile.ts', 'nothing'], { stdio: 'pipe' }), {
    status: 2,
  });
});
