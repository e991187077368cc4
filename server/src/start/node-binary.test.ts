import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import pinned from './node-binaries.json' with { type: 'json' };
import { differenceFromPinnedNode, RUNNING_NODE } from './node-binary.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-node-'));
after(() => rmSync(folder, { recursive: true }));

test('the Node that `npm ci` installs is the one that is pinned', async () => {
  assert.equal(await differenceFromPinnedNode(RUNNING_NODE), null);
});

test('another version, another program of this version, and a platform without a digest are named', async () => {
  const other = join(folder, 'node');
  writeFileSync(other, Buffer.concat([readFileSync(process.execPath), Buffer.of(0)]));
  const said = async (change: Partial<typeof RUNNING_NODE>) => differenceFromPinnedNode({ ...RUNNING_NODE, ...change });
  assert.match(String(await said({ version: '20.0.0' })), /it runs on Node 20\.0\.0/);
  assert.match(String(await said({ file: other })), /is a different program/);
  assert.match(String(await said({ file: join(folder, 'gone') })), /could not be read/);
  assert.match(String(await said({ platform: 'aix-ppc64' })), /no digest for aix-ppc64/);
});

test('what is pinned is what package.json and the lock file install', () => {
  const read = (file: string) => JSON.parse(readFileSync(join(import.meta.dirname, '../../..', file), 'utf8'));
  const { optionalDependencies } = read('package.json');
  const { packages } = read('package-lock.json');
  const platforms = Object.entries(optionalDependencies).map(([name, version]) => {
    assert.equal(version, pinned.version);
    const { os, cpu, integrity } = packages[`node_modules/${name}`];
    assert.match(integrity, /^sha512-/);
    return `${os}-${cpu}`;
  });
  assert.deepEqual(platforms.sort(), Object.keys(pinned.sha256).sort());
});
