import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { addConnection, clientHeaders, tlsCall } from '../../../test/support/machines.ts';
import { ok } from '../../../test/support/people.ts';
import { onSqliteAtLanding, startService } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import { addSecret, addVault, secretUrl } from '../../../test/support/vaults.ts';

const MAIN = fileURLToPath(new URL('../../main.js', import.meta.url));
const HOUR_MS = 3_600_000;
/** More than two thirds of the shortest life that a certificate has. */
const AGE_MS = 20 * HOUR_MS;
const OVERLAP_MS = 600_000;

onSqliteAtLanding('the certificate of an agent', (database) => {
  test('is renewed while the command runs, and the former one is not used any more', async (t) => {
    const service = await startService(database, { at: Date.now() - AGE_MS });
    t.after(() => service.close());
    const folder = mkdtempSync(join(tmpdir(), 'coffer-agent-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = (name: string) => join(folder, name);
    const text = (name: string) => (existsSync(file(name)) ? readFileSync(file(name), 'utf8') : '');

    const vault = await addVault(service);
    await addSecret(service, vault, 'db/password', { value: 'one' });
    const machine = await addConnection(service, vault, { mtls_required: true, certificate_ttl_days: 1 });
    service.clock.advance(AGE_MS);
    writeFileSync(file('client.crt'), machine.certificate, { mode: 0o600 });
    writeFileSync(file('client.key'), machine.private_key, { mode: 0o600 });
    writeFileSync(file('secret'), machine.client_secret, { mode: 0o600 });
    writeFileSync(file('app.tpl'), `password={{ coffer://${vault}/db/password }}\n`);

    const command = 'echo "$PASSWORD" >> started; while :; do sleep 0.1; done';
    const options = [
      '--vault',
      vault,
      '--prefix',
      'db',
      '--all',
      '--interval',
      '0.2',
      '--template',
      'app.tpl:app.conf',
    ];
    const agent = spawn(process.execPath, [MAIN, 'agent', 'run', ...options, '--', 'sh', '-c', command], {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        COFFER_URL: service.tlsUrl,
        COFFER_CA_FILE: join(service.dataDir, 'ca.pem'),
        COFFER_CLIENT_ID: machine.client_id,
        COFFER_CLIENT_SECRET_FILE: file('secret'),
        COFFER_CERT_FILE: file('client.crt'),
        COFFER_KEY_FILE: file('client.key'),
      },
    });
    let said = '';
    for (const stream of [agent.stdout, agent.stderr]) {
      stream.on('data', (piece) => {
        said += piece;
      });
    }
    const ended = new Promise((resolve) => agent.once('exit', resolve));
    t.after(async () => {
      agent.kill();
      await ended;
    });

    await until('the certificate is renewed', () => said.includes('Renewed the certificate in'));
    const renewed = new X509Certificate(text('client.crt'));
    assert.notEqual(renewed.fingerprint256, new X509Certificate(machine.certificate).fingerprint256);
    const life = renewed.validToDate.getTime() - renewed.validFromDate.getTime();
    assert.ok(Math.abs(life - 24 * HOUR_MS) < HOUR_MS, 'as long as before');
    await until('the command runs', () => text('started') === 'one\n');

    // Once it has read a change, nothing that it sent with the former certificate is under way any more.
    await ok(service.call('PUT', secretUrl(vault, 'db/password'), { body: { value: 'two' } }));
    await until('the command is started with the second value', () => text('started') === 'one\ntwo\n');

    service.clock.advance(OVERLAP_MS + 1000);
    const former = await tlsCall(service, machine, secretUrl(vault, 'db/password'), {
      headers: clientHeaders(machine),
    });
    assert.notEqual(former.status, 200);
    await ok(service.call('PUT', secretUrl(vault, 'db/password'), { body: { value: 'three' } }));
    await until('the command is started with the third value', () => text('started') === 'one\ntwo\nthree\n');
    assert.equal(text('app.conf'), 'password=three\n');
    assert.doesNotMatch(said, /Going on with what there is|was not renewed/);
    assert.equal(said.match(/Renewed the certificate/g)?.length, 1);
  });
});
