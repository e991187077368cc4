import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { spawnService, stopService } from './support/process.ts';

const HOME = join(import.meta.dirname, '..');
const FOLDER = join(HOME, 'docs/guide');
/** In a checkout it is run by npm, which the folder of an example knows nothing of. */
const VERIFY = join(HOME, 'cli/src/verify/main.ts');
const pages = readdirSync(FOLDER).filter((file) => file.endsWith('.md') && file !== 'README.md');

/** What a reader would paste: the shell blocks of a page, in order. */
function examplesOf(page: string): string[] {
  const text = readFileSync(join(FOLDER, page), 'utf8');
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map((match) => String(match[1]));
}

describe('the guide', () => {
  for (const page of pages) {
    test(`every example of ${page} works when pasted, on a fresh installation`, async () => {
      const examples = examplesOf(page);
      assert.ok(examples.length > 0, 'a page has examples');
      const service = await spawnService();
      const script = [...examplesOf('README.md'), ...examples].join('\n');
      const run = promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
        cwd: dirname(service.dataDir),
        env: {
          PATH: process.env['PATH'] ?? '',
          COFFER: service.url,
          COFFER_TLS: service.tlsUrl,
          COFFER_HOME: HOME,
          COFFER_VERIFY: `${process.execPath} ${VERIFY}`,
        },
      });
      const { stdout } = await run.catch((error: Error & { stdout?: string; stderr?: string }) => {
        throw new Error(`${page}: ${error.stderr}\nafter ${error.stdout?.slice(-600)}`);
      });
      assert.doesNotMatch(stdout, /"error"/);
      await stopService(service);
    });
  }

  test('the list of pages names every page', () => {
    const list = readFileSync(join(FOLDER, 'README.md'), 'utf8');
    for (const page of pages) assert.ok(list.includes(`(${page})`), page);
  });
});
