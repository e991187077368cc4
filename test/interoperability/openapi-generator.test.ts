import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { expectRoundTrip } from '../support/round-trip.ts';
import { type Service, startService } from '../support/service.ts';
import { output } from './programs.ts';

/** The clients that openapi-generator makes from the document of a running service compile, make a round trip and read errors. */

const GENERATOR = 'org.openapitools:openapi-generator-cli:7.25.0';
const TIMEOUT_MS = 40 * 60_000;
const run = promisify(execFile);

describe('clients of openapi-generator', { timeout: TIMEOUT_MS }, () => {
  let folder: string;
  let service: Service;
  let given: { baseUrl: string; token: string; tenantId: string };
  let generatorMissing: string | false = false;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coffer-generated-'));
    service = await startService('sqlite');
    const { text } = await service.call('GET', '/openapi.json', { token: null });
    writeFileSync(join(folder, 'openapi.json'), text);
    const { tenant } = (await service.call('GET', '/auth/me')).body;
    given = { baseUrl: service.url, token: service.adminToken, tenantId: tenant.id };
    const copy = ['-q', '-B', 'dependency:copy', `-Dartifact=${GENERATOR}`, `-DoutputDirectory=${folder}`];
    await run('mvn', [...copy, '-Dmdep.stripVersion=true'], { cwd: folder, timeout: TIMEOUT_MS }).catch((error) => {
      generatorMissing = `openapi-generator cannot be had here, which takes Java and Maven: ${String(error.message).split('\n')[0]}`;
    });
  });
  after(async () => {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const generate = (generator: string, into: string, ...more: string[]) =>
    run(
      'java',
      ['-jar', 'openapi-generator-cli.jar', 'generate', '-g', generator, '-i', 'openapi.json', '-o', into, ...more],
      {
        cwd: folder,
        timeout: TIMEOUT_MS,
        maxBuffer: 2 ** 26,
      },
    );

  test('Rust', async (t) => {
    if (generatorMissing !== false) return t.skip(generatorMissing);
    const hasCargo = await run('cargo', ['--version']).then(
      () => true,
      () => false,
    );
    if (!hasCargo) return t.skip('cargo is not installed');
    const crate = join(folder, 'rust');
    cpSync(join(import.meta.dirname, 'rust'), crate, { recursive: true });
    await generate('rust', join(crate, 'generated'), '--package-name', 'generated');
    // Fewer bytes to write: the types of the whole API have many symbols.
    const env = { ...process.env, CARGO_PROFILE_DEV_DEBUG: '0' };
    const printed = await output('cargo', ['run', '--quiet', '--locked'], {
      cwd: crate,
      env,
      input: JSON.stringify({ ...given, vault: 'by-rust' }),
      timeout: TIMEOUT_MS,
    });
    expectRoundTrip('by-rust', JSON.parse(printed));
  });

  test('Java', async (t) => {
    if (generatorMissing !== false) return t.skip(generatorMissing);
    const project = join(folder, 'java');
    await generate('java', project);
    const build = ['-q', '-B', 'compile', 'dependency:copy-dependencies', '-DoutputDirectory=target/lib'];
    await run('mvn', build, { cwd: project, timeout: TIMEOUT_MS }).catch(({ stdout, stderr }) =>
      assert.fail(`${stdout}${stderr}`.slice(0, 4000)),
    );
    // The client is compiled for the Java that its project names, which is older than that of the program.
    const path = ['-cp', 'target/classes:target/lib/*'];
    const program = join(import.meta.dirname, 'java/RoundTrip.java');
    await run('javac', [...path, '-d', 'target/classes', program], { cwd: project, timeout: TIMEOUT_MS });
    const printed = await output('java', [...path, 'RoundTrip'], {
      cwd: project,
      input: JSON.stringify({ ...given, vault: 'by-java' }),
      timeout: TIMEOUT_MS,
    });
    expectRoundTrip('by-java', JSON.parse(printed));
  });
});
