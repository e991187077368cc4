import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { addConnection } from '../support/machines.ts';
import { OidcIssuer } from '../support/oidc-issuer.ts';
import { newScratch } from '../support/packages.ts';
import { ok } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';

/** The Go client: its own tests run in Go, against the service. */

const FOLDER = join(import.meta.dirname, '../../clients/go');
const AUDIENCE = 'https://coffer.example';
const BUILD_MS = 600_000;
const LINES_MAX = 300;
const run = promisify(execFile);
const skip = spawnSync('go', ['version']).error === undefined ? false : 'Go is not installed';

test('the Go client stays small, and needs the standard library only', () => {
  assert.ok(readFileSync(join(FOLDER, 'coffer.go'), 'utf8').split('\n').length <= LINES_MAX);
  assert.doesNotMatch(readFileSync(join(FOLDER, 'go.mod'), 'utf8'), /require/);
});

onBothDatabases('the Go client', (database) => {
  let service: Service;
  let issuer: OidcIssuer;
  before(async () => {
    service = await startService(database, { env: { CV_AUDIENCE: AUDIENCE, CV_OUTBOUND_ALLOW: '127.0.0.1' } });
    issuer = await OidcIssuer.start();
  });
  after(async () => {
    issuer.close();
    await service.close();
  });

  test('passes its tests', { skip }, async () => {
    await ok(service.call('POST', '/v1/vaults', { body: { name: 'shop', environment: 'staging' } }), 201);
    const secret = { path: 'db/main', value: 'for machines' };
    await ok(service.call('POST', '/v1/vaults/shop/secrets', { body: secret }), 201);
    const machine = await addConnection(service, 'shop', { allowed_paths: ['db/*'] });
    const config = { expected_issuer: issuer.url, expected_audience: AUDIENCE, allowed_subjects: ['workload'] };
    const body = { name: 'oidc', type: 'oidc_generic', app_connection_id: machine.id, config };
    const method = await ok(service.call('POST', '/workload-identity/methods', { body }), 201);
    const settings = join(newScratch(), 'settings.json');
    const given = {
      url: service.url,
      token: service.adminToken,
      client_id: machine.client_id,
      client_secret: machine.client_secret,
      method_id: method.id,
      oidc_token: await issuer.token(AUDIENCE),
    };
    writeFileSync(settings, JSON.stringify(given), { mode: 0o600 });
    const env = { ...process.env, COFFER_TEST_SETTINGS: settings, GOFLAGS: '-p=2', GOPROXY: 'off' };
    const args = ['test', '-vet=all', '-count=1', '-v', './...'];
    const ran = await run('go', args, { cwd: FOLDER, env, timeout: BUILD_MS }).catch((error) => error);
    assert.match(String(ran.stdout), /^--- PASS: TestService[\s\S]*^PASS$/m, `${ran.stdout}${ran.stderr}`);
  });
});
