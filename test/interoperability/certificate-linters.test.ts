import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { addConnection } from '../support/machines.ts';
import { ok } from '../support/people.ts';
import { startService } from '../support/service.ts';
import { addVault } from '../support/vaults.ts';
import { installFromPypi } from './programs.ts';

/** What zlint and pkilint say of a client certificate, of the authorities and of a revocation list. */

const ZLINT = 'github.com/zmap/zlint/v3/cmd/zlint@v3.6.8';
const BUILD_TIMEOUT_MS = 10 * 60_000;
const SPLIT = /(?<=-----END (?:CERTIFICATE|X509 CRL)-----\n)/;
const run = promisify(execFile);
const pkilint = await installFromPypi(join(import.meta.dirname, 'requirements-pkilint.txt'));

interface Finding {
  validator: string;
  finding_descriptions: { severity: string; code: string; message: string }[];
}

describe('certificates and revocation lists, as linters see them', { timeout: BUILD_TIMEOUT_MS }, () => {
  let folder: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coffer-lint-'));
    const service = await startService('sqlite');
    const made = await addConnection(service, await addVault(service));
    const revoked = await addConnection(service, await addVault(service));
    await ok(service.call('DELETE', `/v1/app-connections/${revoked.client_id}`));
    const { tenant } = await ok(service.call('GET', '/auth/me'));
    const list = await service.call('GET', `/pki/${tenant.id}/crl.pem`, { token: null });
    await service.close();
    const [ca = '', root = ''] = made.ca_chain.split(SPLIT);
    // A linter reads one list of a file: pkilint joins several to a text that is base64 only by chance.
    const [crl = '', rootCrl = '', ...more] = list.text.split(SPLIT);
    assert.deepEqual(more, [], 'the list of the authority and that of the root');
    for (const [name, pem] of Object.entries({ leaf: made.certificate, ca, root, crl, 'root-crl': rootCrl })) {
      writeFileSync(join(folder, `${name}.pem`), pem);
    }
  });
  after(() => rmSync(folder, { recursive: true }));

  test('zlint finds nothing', async (t) => {
    const env = { ...process.env, GOBIN: folder };
    const installed = await run('go', ['install', ZLINT], { env, timeout: BUILD_TIMEOUT_MS }).catch((error) => error);
    if (installed instanceof Error)
      return t.skip(`zlint takes Go and its modules: ${installed.message.split('\n')[0]}`);
    const findings = async (name: string, ...options: string[]) => {
      const { stdout } = await run(join(folder, 'zlint'), [...options, `${name}.pem`], {
        cwd: folder,
        maxBuffer: 2 ** 24,
      });
      const lints = Object.entries<{ result: string }>(JSON.parse(stdout));
      assert.ok(
        lints.some(([, { result }]) => result === 'pass'),
        name,
      );
      return lints.filter(([, { result }]) => ['warn', 'error', 'fatal'].includes(result)).map(([lint]) => lint);
    };
    for (const name of ['leaf', 'ca', 'crl', 'root-crl']) assert.deepEqual(await findings(name), [], name);
    // Of the root only what the standard says: browsers also want a country in the names of the authorities that they trust.
    assert.deepEqual(await findings('root', '-includeSources', 'RFC5280'), []);
  });

  test('pkilint finds nothing, but that it does not know the scheme of our URIs', async (t) => {
    if ('missing' in pkilint) return t.skip(pkilint.missing);
    const python = join(pkilint.bin, 'python');
    const findings = async (program: string, ...args: string[]) => {
      const lint = run(join(pkilint.bin, program), ['lint', '-s', 'WARNING', '-f', 'JSON', ...args], { cwd: folder });
      // It ends with the number of its findings.
      const { stdout, stderr } = await lint.catch((error: { stdout: string; stderr: string }) => error);
      assert.notEqual(stdout, '', stderr);
      return JSON.parse(stdout).results as Finding[];
    };
    for (const name of ['ca', 'root']) assert.deepEqual(await findings('lint_pkix_cert', `${name}.pem`), [], name);
    for (const name of ['crl', 'root-crl'])
      assert.deepEqual(await findings('lint_crl', '-t', 'CRL', '-p', 'PKIX', `${name}.pem`), [], name);
    for (const pair of [
      ['root.pem', 'ca.pem'],
      ['ca.pem', 'leaf.pem'],
    ]) {
      assert.deepEqual(await findings('lint_pkix_signer_signee_cert_chain', ...pair), [], pair.join());
    }
    const ofLeaf = (await findings('lint_pkix_cert', 'leaf.pem')).flatMap((one) => one.finding_descriptions);
    assert.deepEqual(
      ofLeaf.map(({ code }) => code),
      ['pkix.invalid_uri_syntax'],
    );
    const [, uri = ''] = /"(coffer:[^"]+)"/.exec(String(ofLeaf[0]?.message)) ?? [];
    const isUrl = 'import sys, validators; print(validators.url(sys.argv[1]) is True)';
    const withScheme = (scheme: string) => run(python, ['-c', isUrl, uri.replace(/^coffer/, scheme)]);
    assert.equal((await withScheme('https')).stdout, 'True\n');
    assert.equal((await withScheme('spiffe')).stdout, 'False\n', 'it knows a few schemes only');
  });
});
