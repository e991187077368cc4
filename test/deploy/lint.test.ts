import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { newScratch } from '../support/packages.ts';

/** The container file and the compose files, read with the parsers, linter and schema of BuildKit and Compose, which come from the Go module proxy. */

const ROOT = join(import.meta.dirname, '../..');
const CONTAINERFILE = join(ROOT, 'deploy/container/Containerfile');
const composeFile = (name: string) => join(ROOT, `deploy/compose/compose.${name}.yaml`);
const run = promisify(execFile);
const BUILD_MS = 15 * 60_000;

interface ComposeService {
  image: string;
  user: string;
  read_only: boolean;
  cap_drop: string[];
  security_opt: string[];
  healthcheck: { test: string[] };
  environment: Record<string, string>;
  secrets: { source: string }[];
  tmpfs: string[];
  stop_grace_period: string;
}
type Compose = { services: Record<string, ComposeService> };

describe('container and compose files', () => {
  let program = '';
  let missing = '';

  before(async () => {
    try {
      await run('go', ['version']);
    } catch {
      missing = 'Go is not installed';
      return;
    }
    program = join(newScratch(), 'lint');
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: process.env['GOFLAGS'] ?? '-p=2' };
    const cwd = join(import.meta.dirname, 'lint');
    try {
      await run('go', ['mod', 'download'], { cwd, env, timeout: BUILD_MS });
    } catch (error) {
      missing = `the Go module proxy cannot be reached: ${(error as Error).message.split('\n')[0]}`;
      return;
    }
    await run('nice', ['-n', '10', 'go', 'build', '-o', program, '.'], { cwd, env, timeout: BUILD_MS });
  });

  const lint = (file: string, env: Record<string, string> = { COFFER_URL: 'https://coffer.example.com' }) =>
    run(program, [file], { env });
  const loaded = async (name: string) => JSON.parse((await lint(composeFile(name))).stdout) as Compose;

  test('BuildKit has nothing to say about the container file', async (t) => {
    if (missing !== '') return t.skip(missing);
    const { stderr } = await lint(CONTAINERFILE);
    assert.equal(stderr, '');
  });

  test('a mistake is found', async (t) => {
    if (missing !== '') return t.skip(missing);
    const file = join(newScratch(), 'Containerfile');
    writeFileSync(file, `${readFileSync(CONTAINERFILE, 'utf8')}\nCMD node x\nENV a b\n`);
    await assert.rejects(lint(file), /LegacyKeyValueFormat/);
    const yaml = join(newScratch(), 'compose.yaml');
    writeFileSync(yaml, readFileSync(composeFile('sqlite'), 'utf8').replace('read_only:', 'readonly:'));
    await assert.rejects(lint(yaml), /readonly/);
  });

  for (const name of ['sqlite', 'postgres']) {
    test(`compose.${name}.yaml is valid, and each service has as few rights as it needs`, async (t) => {
      if (missing !== '') return t.skip(missing);
      const { services } = await loaded(name);
      assert.deepEqual(Object.keys(services).sort(), name === 'sqlite' ? ['coffer'] : ['coffer', 'database']);
      for (const [key, service] of Object.entries(services)) {
        assert.equal(service.read_only, true, key);
        assert.deepEqual(service.cap_drop, ['ALL'], key);
        assert.deepEqual(service.security_opt, ['no-new-privileges:true'], key);
        assert.match(service.user, /^[1-9]\d*:[1-9]\d*$/, key);
        assert.ok(service.healthcheck.test.length > 1, key);
        assert.ok(
          service.tmpfs.some((mount) => mount.startsWith('/tmp:')),
          key,
        );
        assert.match(service.image, /:\d+\.\d+/, key);
        // Secrets reach a service as files, and every file that a variable names is one of its secrets.
        for (const [variable, value] of Object.entries(service.environment)) {
          if (!/PASS|KEY|URL|SECRET|TOKEN/.test(variable) || /_BASE_URL$|_PROVIDER$/.test(variable)) continue;
          assert.match(variable, /_FILE$/);
          const secrets = service.secrets.map(({ source }) => `/run/secrets/${source}`);
          assert.ok(secrets.includes(value), `${variable} names ${value}`);
        }
      }
    });
  }

  test('a compose file without the URL of the service says what to set', async (t) => {
    if (missing !== '') return t.skip(missing);
    await assert.rejects(lint(composeFile('sqlite'), {}), /the URL under which clients reach the service/);
  });

  test('the engine waits for requests to end', async (t) => {
    if (missing !== '') return t.skip(missing);
    for (const name of ['sqlite', 'postgres']) {
      const { services } = await loaded(name);
      const seconds = Number.parseInt(services['coffer']?.stop_grace_period ?? '', 10);
      assert.ok(seconds >= 35, `${seconds}`);
    }
  });
});
