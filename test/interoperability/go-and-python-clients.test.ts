import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { expectRoundTrip } from '../support/round-trip.ts';
import { type Service, startService } from '../support/service.ts';
import { installFromPypi, output } from './programs.ts';

/** Clients that generators for Go and Python make of the document compile, and do the same as those of openapi-generator. */

const OAPI_CODEGEN = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const TIMEOUT_MS = 20 * 60_000;
const OUTPUT_BYTES_MAX = 2 ** 26;
const run = promisify(execFile);
const python = await installFromPypi(join(import.meta.dirname, 'requirements-python-client.txt'));

describe('clients for Go and Python', { timeout: TIMEOUT_MS }, () => {
  let folder: string;
  let service: Service;
  let given: object;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coffer-generated-'));
    service = await startService('sqlite');
    writeFileSync(join(folder, 'openapi.json'), (await service.call('GET', '/openapi.json', { token: null })).text);
    const { tenant } = (await service.call('GET', '/auth/me')).body;
    given = { baseUrl: service.url, token: service.adminToken, tenantId: tenant.id };
  });
  after(async () => {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('oapi-codegen', async (t) => {
    const env = { ...process.env, GOBIN: folder };
    const installed = await run('go', ['install', OAPI_CODEGEN], { env, timeout: TIMEOUT_MS }).catch((error) => error);
    if (installed instanceof Error)
      return t.skip(`oapi-codegen takes Go and its modules: ${installed.message.split('\n')[0]}`);
    const project = join(folder, 'go');
    cpSync(join(import.meta.dirname, 'go'), project, { recursive: true });
    const { stdout } = await run(
      join(folder, 'oapi-codegen'),
      ['-generate', 'models,client', '-package', 'generated', 'openapi.json'],
      { cwd: folder, maxBuffer: OUTPUT_BYTES_MAX },
    );
    mkdirSync(join(project, 'generated'));
    writeFileSync(join(project, 'generated/generated.go'), stdout);
    const input = JSON.stringify({ ...given, vault: 'by-go' });
    expectRoundTrip(
      'by-go',
      JSON.parse(await output('go', ['run', '.'], { cwd: project, input, timeout: TIMEOUT_MS })),
    );
  });

  test('openapi-python-client', async (t) => {
    if ('missing' in python) return t.skip(python.missing);
    // It tidies what it made by a program that it looks for in the path.
    const env = { ...process.env, PATH: `${python.bin}:${process.env['PATH']}` };
    const options = ['--path', 'openapi.json', '--output-path', 'generated', '--meta', 'none'];
    await run(join(python.bin, 'openapi-python-client'), ['generate', ...options], {
      cwd: folder,
      env,
      maxBuffer: OUTPUT_BYTES_MAX,
    });
    cpSync(join(import.meta.dirname, 'python/round_trip.py'), join(folder, 'round_trip.py'));
    const input = JSON.stringify({ ...given, vault: 'by-python' });
    const printed = await output(join(python.bin, 'python'), ['round_trip.py'], {
      cwd: folder,
      input,
      timeout: TIMEOUT_MS,
    });
    expectRoundTrip('by-python', JSON.parse(printed));
  });
});
