import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { calculateJwkThumbprint } from 'jose';
import { createDpopKeyFile } from '../../../client/src/node/index.ts';
import { connectionExamples } from '../../../console/src/connections/example-texts.ts';
import { pipelineExamples } from '../../../console/src/connections/pipeline-examples.ts';
import {
  environmentFile,
  INSTALL_CLIENT,
  INSTALL_GO,
  INSTALL_PYTHON,
} from '../../../console/src/connections/setup-texts.ts';
import { keyExamples } from '../../../console/src/keys/example-texts.ts';
import type { Example } from '../../../console/src/ui/example.ts';
import { workloadExamples } from '../../../console/src/workloads/example-texts.ts';
import { SECOND_MS } from '../../../server/src/kernel/base/clock.ts';
import { type IssuerKey, json, newIssuerKey, OutsideIssuer, signed } from '../../support/external-issuer.ts';
import { addConnection } from '../../support/machines.ts';
import { ok } from '../../support/people.ts';
import { type Service, startService } from '../../support/service.ts';

/** What the console offers to copy runs as it stands, and gets the value. */

const ROOT = join(import.meta.dirname, '../../..');
const VALUE = 'a value of the vault';
const OTHER = 'another value of the vault';
const HIDDEN = 'a value outside the paths of the connection';
const BILLING = 'a value of another vault';
const SUBJECT = 'repo:acme/shop:ref:refs/heads/main';
const isHere = (program: string) => spawnSync(program, ['--version']).error === undefined;
const hasJq = isHere('jq');
const hasPython = isHere('python3');
const hasGo = isHere('go');
const FILES: Record<string, readonly [file: string, program: string, last: string]> = {
  curl: ['example.sh', 'bash', ''],
  Shell: ['example.sh', 'bash', ''],
  'Node.js': ['example.mjs', process.execPath, "console.log(typeof value === 'string' ? value : values);\n"],
  Python: ['example.py', 'python3', 'print(globals().get("value") or values)\n'],
  coffer: ['example.sh', 'bash', 'test -z "$VALUE" || printf "%s\\n" "$VALUE"\n'],
  Go: ['example.go', 'go', ''],
};
const RUN_WITH: Record<string, readonly string[]> = { Go: ['run'], coffer: ['-e'] };
/** A program in Go prints what it read as its last step. */
const GO_LAST = '\tfor _, value := range values {\n\t\tos.Stdout.WriteString(value + "\\n")\n\t}\n}\n';

describe('examples of the console', () => {
  let service: Service;
  let issuer: OutsideIssuer;
  let key: IssuerKey;
  const folder = mkdtempSync(join(tmpdir(), 'coffer-examples-'));

  before(async () => {
    service = await startService('sqlite', { env: { CV_OUTBOUND_ALLOW: '127.0.0.1' } });
    issuer = await OutsideIssuer.start();
    key = await newIssuerKey('k', 'RS256');
    issuer.keys = [key.jwk];
    await ok(service.call('POST', '/v1/vaults', { body: { name: 'shop', environment: 'staging' } }), 201);
    await ok(service.call('POST', '/v1/vaults/shop/secrets', { body: { path: 'db/main', value: VALUE } }), 201);
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    await ok(service.call('POST', '/v1/vaults/shop/secrets', { body: { path: 'db/other', value: OTHER } }), 201);
    await ok(service.call('POST', '/v1/vaults/shop/secrets', { body: { path: 'mail', value: HIDDEN } }), 201);
    await ok(service.call('POST', '/v1/vaults', { body: { name: 'billing', environment: 'staging' } }), 201);
    await ok(service.call('POST', '/v1/vaults/billing/secrets', { body: { path: 'db/main', value: BILLING } }), 201);
    writeFileSync(join(folder, 'your-program'), '#!/bin/sh\nenv\n', { mode: 0o755 });
    const client = join(ROOT, 'clients', 'go');
    const module = `module example\n\ngo 1.24\n\nrequire coffer.dev/go v0.0.0\n\nreplace coffer.dev/go => ${client}\n`;
    writeFileSync(join(folder, 'go.mod'), module);
    writeFileSync(join(folder, 'deploy.sh'), '#!/bin/sh\nprintf "%s\\n" "$VALUE"\n', { mode: 0o755 });
  });
  after(async () => {
    issuer.close();
    rmSync(folder, { recursive: true });
    await service.close();
  });

  async function run({ title, code }: Example, given: Record<string, string> = {}): Promise<string> {
    const [file, program, last] = FILES[title] ?? assert.fail(`how does ${title} run?`);
    writeFileSync(join(folder, file), title === 'Go' ? code.replace(/\}\n$/, GO_LAST) : code + last);
    const env = {
      PATH: [dirname(process.execPath), join(ROOT, 'node_modules', '.bin'), process.env['PATH']].join(delimiter),
      HOME: process.env['HOME'] ?? folder,
      COFFER_CONFIG_DIR: folder,
      GOTOOLCHAIN: 'local',
      GOPROXY: 'off',
      PYTHONPATH: join(ROOT, 'clients', 'python'),
      CURL_CA_BUNDLE: join(service.dataDir, 'ca.pem'),
      NODE_EXTRA_CA_CERTS: join(service.dataDir, 'ca.pem'),
      SSL_CERT_FILE: join(service.dataDir, 'ca.pem'),
      ...given,
    };
    const { stdout } = await promisify(execFile)(program, [...(RUN_WITH[title] ?? []), file], {
      cwd: folder,
      env,
    });
    return stdout;
  }

  const canRun = ({ title }: Example) => {
    if (title === 'Go') return hasGo;
    return title === 'Python' ? hasPython : title !== 'Shell' || hasJq;
  };
  const claims = () => {
    const now = Math.floor(service.clock.now() / SECOND_MS);
    return { iss: issuer.url, aud: service.url, sub: SUBJECT, iat: now, exp: now + 600 };
  };

  for (const hasCertificate of [false, true]) {
    test(`a program reads with its connection, ${hasCertificate ? 'and its certificate' : 'by its secret'}`, async () => {
      const { id } = await ok(service.call('GET', '/v1/vaults/billing'));
      const more = { mtls_required: hasCertificate, allowed_paths: ['db/*'], vault_ids: [id] };
      const machine = await addConnection(service, 'shop', more);
      const { client_id, client_secret, certificate, private_key, ca_chain } = machine;
      writeFileSync(join(folder, 'web.crt'), certificate);
      writeFileSync(join(folder, 'web.key'), private_key, { mode: 0o600 });
      writeFileSync(join(folder, 'web-ca.pem'), String(ca_chain));
      const facts = {
        url: hasCertificate ? service.tlsUrl : service.url,
        clientId: client_id,
        name: 'web',
        hasCertificate,
        hasOwnAuthority: hasCertificate,
        hasDpop: false,
      };
      const one = connectionExamples({ ...facts, reads: { vault: 'shop', path: 'db/main' } });
      assert.deepEqual(
        one.map(({ title }) => title),
        ['curl', 'coffer', 'Node.js', 'Python', 'Go'],
      );
      const secrets = [
        { vault: 'shop', path: 'db/main' },
        { vault: 'shop', path: 'db/other' },
        { vault: 'billing', path: 'db/main' },
      ];
      const all = connectionExamples({ ...facts, reads: { vaults: ['shop', 'billing'], secrets } });
      for (const example of one.filter(canRun)) {
        assert.match(await run(example, { COFFER_CLIENT_SECRET: client_secret }), new RegExp(VALUE), example.title);
        await assert.rejects(
          run(example, { COFFER_CLIENT_SECRET: `${client_secret}x` }),
          /401|INVALID_TOKEN/,
          example.title,
        );
      }
      for (const example of all.filter(canRun)) {
        const read = await run(example, { COFFER_CLIENT_SECRET: client_secret });
        for (const value of [VALUE, OTHER, BILLING]) assert.ok(read.includes(value), example.title);
        assert.ok(!read.includes(HIDDEN), example.title);
      }
      assert.ok([...one, ...all].every(({ code }) => !code.includes('Svc_')));
    });
  }

  test('what is installed is what this checkout has, and the file with the credentials is read', async (t) => {
    const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
    const { name } = JSON.parse(read('client/package.json')) as { name: string };
    assert.ok(INSTALL_CLIENT.includes(`npm install ./${name.replace('@', '').replace('/', '-')}-*.tgz`));
    assert.match(INSTALL_PYTHON, /pip install \.\/clients\/python\n/);
    assert.match(read('clients/python/pyproject.toml'), /^name = "coffer"$/m);
    const { client_id, client_secret } = await addConnection(service, 'shop', { mtls_required: false });
    const reads = { vault: 'shop', path: 'db/main' };
    const place = { url: service.url, name: 'web', reads, hasOwnAuthority: false, hasCertificate: false };
    const facts = { ...place, clientId: client_id, hasDpop: false };
    const file = environmentFile(facts);
    writeFileSync(join(folder, '.env'), file.replace(/^COFFER_CLIENT_SECRET=$/m, `$&${client_secret}`));
    const shell = connectionExamples(facts).filter(({ title }) => ['curl', 'coffer'].includes(title));
    for (const example of shell) {
      const code = `set -a; . ./.env; set +a\n${example.code}`;
      assert.match(await run({ ...example, code }), new RegExp(VALUE), example.title);
    }
    if (!hasGo) return t.skip('go is not installed');
    const project = join(folder, 'project');
    mkdirSync(project);
    symlinkSync(ROOT, join(folder, 'coffer'));
    writeFileSync(join(project, 'go.mod'), 'module project\n\ngo 1.24\n');
    const go = connectionExamples(facts).find(({ title }) => title === 'Go');
    writeFileSync(join(project, 'main.go'), (go?.code ?? '').replace(/\}\n$/, GO_LAST));
    const env = { ...process.env, GOTOOLCHAIN: 'local', GOPROXY: 'off', COFFER_CLIENT_SECRET: client_secret };
    const script = `${INSTALL_GO}go run .`;
    const { stdout } = await promisify(execFile)('bash', ['-ec', script], { cwd: project, env });
    assert.match(stdout, new RegExp(VALUE));
  });

  test('a program reads with DPoP proofs, and another encrypts with a key', async () => {
    const file = join(folder, 'web.dpop.pem');
    const { publicJwk } = await createDpopKeyFile(file);
    const more = { mtls_required: false, require_dpop: true, dpop_jkt: await calculateJwkThumbprint(publicJwk) };
    const { client_id, client_secret } = await addConnection(service, 'shop', more);
    const place = { url: service.url, name: 'web', reads: { vault: 'shop', path: 'db/main' }, hasOwnAuthority: false };
    const examples = connectionExamples({ ...place, clientId: client_id, hasCertificate: false, hasDpop: true });
    for (const example of examples) {
      assert.match(await run(example, { COFFER_CLIENT_SECRET: client_secret }), new RegExp(VALUE));
    }

    await ok(service.call('POST', '/eaas/keys', { body: { name: 'cards' } }), 201);
    const auth = `header = "Authorization: Bearer ${service.adminToken}"\n`;
    writeFileSync(join(folder, 'auth.conf'), auth, { mode: 0o600 });
    const [curl, client] = keyExamples(service.url, 'cards');
    assert.ok(curl !== undefined && client !== undefined);
    assert.match(await run(curl), /"envelope":"/);
    const code = client.code.replace('const text', 'const value');
    assert.match(await run({ ...client, code }, { COFFER_TOKEN: service.adminToken }), /4111 1111 1111 1111/);
  });

  test('a pipeline reads with the identity of its CI system', async (t) => {
    if (!hasJq) return t.skip('there is no jq here, which the pipelines use');
    const connection = await addConnection(service, 'shop', { mtls_required: true });
    const body = {
      name: 'ci',
      provider: 'custom',
      issuer: issuer.url,
      jwks_url: issuer.jwksUrl,
      subject_pattern: SUBJECT,
    };
    const made = await ok(service.call('POST', `/app-connections/${connection.id}/federations`, { body }), 201);
    const facts = { url: service.tlsUrl, audience: made.audience, clientId: connection.client_id };
    for (const provider of ['github', 'gitlab', 'custom'] as const) {
      const [example] = pipelineExamples(provider, { ...facts, vault: 'shop', path: 'db/main' });
      assert.ok(example !== undefined);
      const token = await signed(key, claims());
      const runner = `/run?id=1&audience=${made.audience}`;
      issuer.instead.set(runner, (_, response) => json(response, { value: token }));
      const given = {
        COFFER: service.tlsUrl,
        COFFER_AUDIENCE: made.audience,
        COFFER_CONNECTION: connection.client_id,
        COFFER_ID_TOKEN: token,
        ID_TOKEN: token,
        ACTIONS_ID_TOKEN_REQUEST_URL: `${issuer.url}/run?id=1`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'what a runner of GitHub is given',
      };
      const code = provider === 'custom' ? `${example.code}export VALUE\n./deploy.sh\n` : scriptOf(example.code);
      assert.match(await run({ title: 'Shell', code }, given), new RegExp(VALUE), provider);
    }
  });

  test('a workload logs in by its method and reads', async (t) => {
    if (!hasJq) return t.skip('there is no jq here, which the example uses');
    const connection = await addConnection(service, 'shop');
    const config = { expected_issuer: issuer.url, expected_audience: service.url, allowed_subjects: ['repo:acme/.*'] };
    const method = { name: 'jobs', type: 'oidc_generic', app_connection_id: connection.id, config };
    const { id } = await ok(service.call('POST', '/workload-identity/methods', { body: method }), 201);
    const file = join(folder, 'identity');
    writeFileSync(file, `${await signed(key, claims())}\n`);
    const facts = { url: service.url, methodId: id, audience: service.url, vault: 'shop' };
    for (const { title, code } of workloadExamples('oidc_generic', facts)) {
      const example = { title, code: code.replace('PATH', 'db/main') };
      assert.match(await run(example, { OIDC_TOKEN_FILE: file, IDENTITY_FILE: file }), new RegExp(VALUE), title);
    }
  });
});

/** The lines under `run: |`, or under `- |` of a `script`, without what indents them. */
function scriptOf(pipeline: string): string {
  const [, indent = '', body = ''] = /^( *)(?:run: \||- \|)\n((?:\1 +.*\n|\n)+)/m.exec(pipeline) ?? [];
  return body.replaceAll(new RegExp(`^${indent}  `, 'gm'), '');
}
