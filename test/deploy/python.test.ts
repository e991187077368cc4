import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { addConnection } from '../support/machines.ts';
import { OidcIssuer } from '../support/oidc-issuer.ts';
import { newScratch } from '../support/packages.ts';
import { ok } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';

/** The Python client: its own tests run in Python, against the service. */

const FOLDER = join(import.meta.dirname, '../../clients/python');
const AUDIENCE = 'https://coffer.example';
const RUN_MS = 300_000;
const run = promisify(execFile);

function whyNoPython(): string | false {
  const code = 'import sys; sys.exit(0 if sys.version_info >= (3, 9) else 1)';
  const { error, status } = spawnSync('python3', ['-c', code]);
  if (error !== undefined) return 'python3 is not installed';
  return status === 0 ? false : 'python3 is older than 3.9';
}
const skip = whyNoPython();

async function unittest(file: string, env: Record<string, string> = {}): Promise<void> {
  const args = ['-W', 'error', '-m', 'unittest', 'discover', '-s', join(FOLDER, 'tests'), '-p', file];
  const all = { PATH: process.env['PATH'] ?? '', PYTHONPATH: FOLDER, PYTHONDONTWRITEBYTECODE: '1', ...env };
  const ran = await run('python3', args, { env: all, timeout: RUN_MS, cwd: newScratch() }).catch((error) => error);
  assert.match(String(ran.stderr), /Ran \d\d+ tests[\s\S]*^OK$/m, String(ran.stderr));
}

describe('the Python client', () => {
  test('has the version of the service', () => {
    const { version } = JSON.parse(readFileSync(join(FOLDER, '../../package.json'), 'utf8'));
    assert.equal(readFileSync(join(FOLDER, 'coffer/_version.py'), 'utf8'), `VERSION = "${version}"\n`);
  });

  test('imports the standard library only', { skip }, (t) => {
    const code = `
import ast, pathlib, sys
names = {n for f in pathlib.Path(sys.argv[1]).glob('*.py') for node in ast.walk(ast.parse(f.read_text()))
         for n in ([a.name for a in node.names] if isinstance(node, ast.Import)
                   else [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else [])}
print(' '.join(sorted(n for n in names if n.split('.')[0] not in sys.stdlib_module_names)), len(names))
`;
    const { status, stdout, stderr } = spawnSync('python3', ['-c', code, join(FOLDER, 'coffer')], { encoding: 'utf8' });
    if (status !== 0 && stderr.includes('stdlib_module_names')) return t.skip('Python 3.9 has no list of its modules');
    assert.match(stdout, /^ \d\d\n$/, stdout + stderr);
  });

  test('keeps its rules', { skip }, () => unittest('test_rules.py'));
});

onBothDatabases('the Python client', (database) => {
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

  test('works with the service', { skip }, async () => {
    await ok(service.call('POST', '/v1/vaults', { body: { name: 'shop', environment: 'staging' } }), 201);
    for (const [path, value] of [
      ['db/main', 'for machines'],
      ['other/x', 'not for them'],
    ]) {
      await ok(service.call('POST', '/v1/vaults/shop/secrets', { body: { path, value } }), 201);
    }
    const machine = await addConnection(service, 'shop', { allowed_paths: ['db/*'] });
    const job = await addConnection(service, 'shop', { allowed_paths: ['db/*'], mtls_required: true });
    const federation = { name: 'ci', provider: 'custom', issuer: issuer.url, subject_pattern: 'workload' };
    await ok(service.call('POST', `/app-connections/${job.id}/federations`, { body: federation }), 201);
    const config = { expected_issuer: issuer.url, expected_audience: AUDIENCE, allowed_subjects: ['workload'] };
    const body = { name: 'oidc', type: 'oidc_generic', app_connection_id: machine.id, config };
    const method = await ok(service.call('POST', '/workload-identity/methods', { body }), 201);
    const settings = join(newScratch(), 'settings.json');
    const given = {
      url: service.url,
      tls_url: service.tlsUrl,
      ca_file: join(service.dataDir, 'ca.pem'),
      token: service.adminToken,
      client_id: machine.client_id,
      client_secret: machine.client_secret,
      ci_client_id: job.client_id,
      id_token: await issuer.token(AUDIENCE),
      method_id: method.id,
      oidc_token: await issuer.token(AUDIENCE),
    };
    writeFileSync(settings, JSON.stringify(given), { mode: 0o600 });
    await unittest('test_service.py', { COFFER_TEST_SETTINGS: settings });
  });
});
