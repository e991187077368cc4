import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { OWN_DOMAIN } from '../server/src/features/certificates/names.ts';
import { addConnection } from './support/machines.ts';
import { ok } from './support/people.ts';
import { type Service, startService } from './support/service.ts';
import { addVault } from './support/vaults.ts';

const run = promisify(execFile);
const PROGRAMS = join(import.meta.dirname, 'fixtures/certificate-clients');
const SPLIT = /(?<=-----END CERTIFICATE-----\n)/;

/** Software of others that checks certificates, each with how it says that it is not there. */
const CHECKERS: Record<string, { command: [string, ...string[]]; isThere: [string, ...string[]] }> = {
  Java: { command: ['java', join(PROGRAMS, 'PathCheck.java')], isThere: ['javac', '--version'] },
  Python: {
    command: ['python3', join(PROGRAMS, 'path_check.py')],
    isThere: ['python3', '-c', 'import cryptography.x509.verification as v; v.PolicyBuilder().build_client_verifier'],
  },
  Go: { command: ['go', 'run', join(PROGRAMS, 'path_check.go')], isThere: ['go', 'version'] },
  OpenSSL: {
    command: [
      'openssl',
      ...'verify -x509_strict -purpose sslclient -CAfile root.pem -untrusted ca.pem leaf.pem'.split(' '),
    ],
    isThere: ['openssl', 'version'],
  },
};

describe('certificates that others check', () => {
  let service: Service;
  let folder: string;
  let connection: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coffer-certificates-'));
    service = await startService('sqlite');
    const made = await addConnection(service, await addVault(service));
    connection = made.client_id;
    const [ca = '', root = ''] = made.ca_chain.split(SPLIT);
    writeFileSync(join(folder, 'leaf.pem'), made.certificate);
    writeFileSync(join(folder, 'ca.pem'), ca);
    writeFileSync(join(folder, 'root.pem'), root);
  });
  after(async () => {
    await service.close();
    rmSync(folder, { recursive: true });
  });

  const runs = async ([program, ...args]: [string, ...string[]]) =>
    run(program, args, { cwd: folder }).then(
      () => true,
      () => false,
    );

  for (const [name, { command, isThere }] of Object.entries(CHECKERS)) {
    test(`${name} accepts the chain`, async (t) => {
      if (!(await runs(isThere))) return t.skip(`"${isThere.join(' ')}" fails here, so ${name} cannot be asked`);
      const [program, ...args] = command;
      const { stdout } = await run(program, args, { cwd: folder });
      assert.match(stdout, /^(?:accepted|leaf\.pem: OK)\n$/);
    });
  }

  test('OpenSSL fetches the list that the certificate names, and refuses it once it is revoked', async (t) => {
    if (!(await runs(['openssl', 'version']))) return t.skip('openssl is not installed');
    const verify = 'verify -crl_download -crl_check -CAfile root.pem -untrusted ca.pem leaf.pem'.split(' ');
    const { stdout } = await run('openssl', verify, { cwd: folder });
    assert.equal(stdout, 'leaf.pem: OK\n');
    await ok(service.call('DELETE', `/v1/app-connections/${connection}`));
    await assert.rejects(run('openssl', verify, { cwd: folder }), /certificate revoked/);
  });

  test('the list in DER is one list, of the authority that is requested', async () => {
    const { tenant } = await ok(service.call('GET', '/auth/me'));
    const answer = await fetch(`${service.url}/pki/${tenant.id}/crl.der?ca=1`);
    assert.equal(answer.headers.get('content-type'), 'application/pkix-crl');
    const der = Buffer.from(await answer.arrayBuffer());
    assert.equal(der.readUInt8(0), 0x30);
    assert.equal(der.readUInt16BE(2) + 4, der.length, 'nothing follows the list');
    assert.deepEqual(Buffer.from(await (await fetch(`${service.url}/pki/${tenant.id}/crl.der`)).arrayBuffer()), der);
    for (const path of [`/pki/${tenant.id}/crl.der?ca=2`, '/pki/tenant_nobody/crl.der']) {
      assert.equal((await fetch(`${service.url}${path}`)).status, 404, path);
    }
    const pem = readFileSync(join(folder, 'ca.pem'), 'utf8');
    writeFileSync(join(folder, 'ca.der'), Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64'));
    assert.ok(
      readFileSync(join(folder, 'ca.der')).includes(OWN_DOMAIN),
      'and is constrained to names that no server has',
    );
  });
});
