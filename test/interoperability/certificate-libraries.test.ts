import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { addConnection } from '../support/machines.ts';
import { startService } from '../support/service.ts';
import { addVault } from '../support/vaults.ts';

/**
 * The path validation of rustls and of pyca, which other services use to check our client certificates. `npm run test:interoperability` fetches both from
 * crates.io and PyPI; `test/certificate-clients.test.ts` has what is installed more often.
 */

const run = promisify(execFile);
const PROGRAMS = join(import.meta.dirname, '../fixtures/certificate-clients');
const SPLIT = /(?<=-----END CERTIFICATE-----\n)/;
const BUILD_TIMEOUT_MS = 600_000;
const PYCA = 'cryptography==50.0.2';

describe('client certificates, as libraries of others validate them', { timeout: BUILD_TIMEOUT_MS }, () => {
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coffer-certificates-'));
    const service = await startService('sqlite');
    const made = await addConnection(service, await addVault(service));
    await service.close();
    const [ca = '', root = ''] = made.ca_chain.split(SPLIT);
    writeFileSync(join(folder, 'leaf.pem'), made.certificate);
    writeFileSync(join(folder, 'ca.pem'), ca);
    writeFileSync(join(folder, 'root.pem'), root);
  });
  after(() => rmSync(folder, { recursive: true }));

  const has = (program: string, ...args: string[]) =>
    run(program, args).then(
      () => true,
      () => false,
    );

  test('rustls accepts them from the root and from the authority of the tenant', async (t) => {
    if (!(await has('cargo', '--version'))) return t.skip('cargo is not installed');
    const manifest = join(PROGRAMS, 'rust/Cargo.toml');
    const env = { ...process.env, CARGO_TARGET_DIR: join(folder, 'target') };
    const args = ['run', '--quiet', '--locked', '--manifest-path', manifest];
    const { stdout } = await run('cargo', args, { cwd: folder, env, timeout: BUILD_TIMEOUT_MS });
    assert.equal(stdout, 'accepted\n');
  });

  test('so does pyca', async (t) => {
    if (!(await has('python3', '-c', 'import venv, ensurepip'))) return t.skip('python3 with venv is not installed');
    const python = join(folder, 'venv/bin/python');
    await run('python3', ['-m', 'venv', join(folder, 'venv')]);
    await run(python, ['-m', 'pip', 'install', '--quiet', PYCA], { timeout: BUILD_TIMEOUT_MS });
    const { stdout } = await run(python, [join(PROGRAMS, 'path_check.py')], { cwd: folder });
    assert.equal(stdout, 'accepted\n');
  });
});
