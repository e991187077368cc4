import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { builtPackages, newScratch, npm, PACKAGES, pack } from '../support/packages.ts';
import { spawnService, stopService } from '../support/process.ts';

const run = promisify(execFile);
/** What npm says where no registry can be reached and the packages are not cached. */
const NO_REGISTRY = /ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|ENOTCACHED|network/i;

test('npm installs the packages into an empty folder, with their dependencies from a registry', async (t) => {
  const packages = await builtPackages();
  const folder = newScratch();
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const tarballs: string[] = [];
  for (const name of PACKAGES) {
    const { filename } = await pack(join(packages, name), ['--pack-destination', folder]);
    tarballs.push(`./${filename}`);
  }
  try {
    await npm(['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', ...tarballs], folder);
  } catch (error) {
    if (!NO_REGISTRY.test(String(error))) throw error;
    return t.skip('npm cannot reach a registry');
  }
  const bin = (name: string) => join(folder, 'node_modules/.bin', name);
  const service = await spawnService({ program: bin('coffer-server') });
  assert.equal((await fetch(`${service.url}/health/ready`)).status, 200);
  await stopService(service);
  const { stdout } = await run(process.execPath, [bin('coffer'), 'server', '--help']);
  assert.match(stdout, /backup/);
  await run(process.execPath, [bin('coffer-verify'), '--help']);
});
