import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { SECOND_MS } from '../../server/src/kernel/base/clock.ts';
import { type IssuerKey, json, newIssuerKey, OutsideIssuer, signed } from '../support/external-issuer.ts';
import { blocksOf } from '../support/guide-pages.ts';
import { addConnection } from '../support/machines.ts';
import { ok } from '../support/people.ts';
import { type Service, startService } from '../support/service.ts';

/** The scripts of the pipelines in the guide run as a CI system would run them, until `deploy.sh` has the secret. */

const AUDIENCE = 'https://coffer.example';
const REQUEST_TOKEN = 'what a runner of GitHub is given';
const SUBJECT = 'repo:acme/shop:ref:refs/heads/main';
const VALUE = 'a value of the vault';
const hasJq = spawnSync('jq', ['--version']).error === undefined;
const NO_JQ = 'there is no jq here, which the pipelines use';

/** The lines under `run: |`, or under `- |` of a `script`, without what indents them. */
function scriptOf(pipeline: string): string {
  const [, indent = '', body = ''] = /^( *)(?:run: \||- \|)\n((?:\1 +.*\n|\n)+)/m.exec(pipeline) ?? [];
  return body.replaceAll(new RegExp(`^${indent}  `, 'gm'), '');
}

/** The names that a pipeline says it has, set in it or, in a comment, in the settings of the project. */
function variablesOf(pipeline: string): Set<string> {
  return new Set(Array.from(pipeline.matchAll(/^ +(?:# )?(COFFER\w*):/gm), ([, name = '']) => name));
}

describe('pipelines of the guide', () => {
  let service: Service;
  let issuer: OutsideIssuer;
  let key: IssuerKey;
  const folder = mkdtempSync(join(tmpdir(), 'coffer-pipelines-'));

  before(async () => {
    service = await startService('sqlite', { env: { CV_AUDIENCE: AUDIENCE, CV_OUTBOUND_ALLOW: '127.0.0.1' } });
    issuer = await OutsideIssuer.start();
    key = await newIssuerKey('k', 'RS256');
    issuer.keys = [key.jwk];
    await ok(service.call('POST', '/v1/vaults', { body: { name: 'shop', environment: 'staging' } }), 201);
    const secret = { path: 'db/main', value: VALUE };
    await ok(service.call('POST', '/v1/vaults/shop/secrets', { body: secret }), 201);
    writeFileSync(join(folder, 'deploy.sh'), '#!/bin/sh\ntest "$DB_PASSWORD" = "$EXPECTED" && echo deployed\n', {
      mode: 0o755,
    });
  });
  after(async () => {
    issuer.close();
    rmSync(folder, { recursive: true });
    await service.close();
  });

  async function idToken(): Promise<string> {
    const now = Math.floor(service.clock.now() / SECOND_MS);
    return signed(key, { iss: issuer.url, aud: AUDIENCE, sub: SUBJECT, iat: now, exp: now + 600, run_id: '1' });
  }

  /** As GitHub answers a runner, with a token for the audience it asks for. */
  async function answerRunner(): Promise<string> {
    const token = await idToken();
    issuer.instead.set(`/run?id=1&audience=${AUDIENCE}`, (request, response) => {
      const isRunner = request.headers.authorization === `Bearer ${REQUEST_TOKEN}`;
      json(response, isRunner ? { value: token } : {}, isRunner ? 200 : 401);
    });
    return `${issuer.url}/run?id=1`;
  }

  async function run(pipeline: string, given: Record<string, string>): Promise<string> {
    const declared = variablesOf(pipeline);
    const coffer = Object.entries(given).filter(([name]) => !name.startsWith('COFFER') || declared.has(name));
    const env = { PATH: process.env['PATH'] ?? '', EXPECTED: VALUE, ...Object.fromEntries(coffer) };
    const script = scriptOf(pipeline);
    assert.match(script, /deploy\.sh/);
    const { stdout } = await promisify(execFile)('bash', ['--noprofile', '--norc', '-e', '-c', script], {
      cwd: folder,
      env,
    });
    return stdout;
  }

  test('with the secret of a connection read what they deploy with', async (t) => {
    if (!hasJq) return t.skip(NO_JQ);
    const { client_id, client_secret } = await addConnection(service, 'shop', { allowed_paths: ['db/*'] });
    const pipelines = blocksOf('app-connections.md', 'yaml');
    assert.equal(pipelines.length, 2);
    for (const pipeline of pipelines) {
      const given = { COFFER: service.url, COFFER_CLIENT_ID: client_id, COFFER_CLIENT_SECRET: client_secret };
      assert.match(await run(pipeline, given), /deployed/);
      await assert.rejects(run(pipeline, { ...given, COFFER_CLIENT_SECRET: `${client_secret}x` }), /401/);
    }
  });

  test('with an identity of the CI system alone do so too, and nothing is left behind', async (t) => {
    if (!hasJq) return t.skip(NO_JQ);
    const connection = await addConnection(service, 'shop', { allowed_paths: ['db/*'], mtls_required: true });
    const federation = {
      name: 'ci',
      provider: 'custom',
      issuer: issuer.url,
      jwks_url: issuer.jwksUrl,
      subject_pattern: SUBJECT,
    };
    await ok(service.call('POST', `/app-connections/${connection.id}/federations`, { body: federation }), 201);
    const temporary = mkdtempSync(join(folder, 'tmp-'));
    const pipelines = blocksOf('federations.md', 'yaml');
    assert.equal(pipelines.length, 2);
    for (const pipeline of pipelines) {
      const given = {
        COFFER: service.tlsUrl,
        COFFER_AUDIENCE: AUDIENCE,
        COFFER_CONNECTION: connection.client_id,
        COFFER_ID_TOKEN: await idToken(),
        ACTIONS_ID_TOKEN_REQUEST_URL: await answerRunner(),
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: REQUEST_TOKEN,
        CURL_CA_BUNDLE: join(service.dataDir, 'ca.pem'),
        TMPDIR: temporary,
      };
      assert.match(await run(pipeline, given), /deployed/);
      await assert.rejects(
        run(pipeline, { ...given, COFFER_CONNECTION: '00000000-0000-0000-0000-000000000000' }),
        /401/,
      );
    }
    assert.deepEqual(readdirSync(temporary), []);
  });
});
