import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import {
  blocksOf,
  examplesOf,
  guidePages,
  hasBothWays,
  readGuidePage,
  settingsOf,
  type Way,
} from '../support/guide-pages.ts';
import { copyMigratedFile } from '../support/migrated-file.ts';
import { ARE_RULES_ON_BOTH, type Service, startService } from '../support/service.ts';

const HOME = join(import.meta.dirname, '../..');
/** In a checkout it is run by npm, which the folder of an example knows nothing of. */
const VERIFY = join(HOME, 'cli/src/verify/main.ts');
/** What an example began in the background ends with the script, however that ends. */
const END_JOBS = "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT";

/** A fresh installation in a folder of its own, where the data folder is called as the guide calls it. */
async function install(env: Record<string, string> = {}): Promise<Service> {
  const dataDir = join(mkdtempSync(join(tmpdir(), 'coffer-guide-')), 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  copyMigratedFile(dataDir);
  // Most tests do without the console, which an installation has.
  return startService('sqlite', { dataDir, env: { CV_CONSOLE: 'on', ...env } });
}

async function uninstall(service: Service): Promise<void> {
  await service.close();
  rmSync(dirname(service.dataDir), { recursive: true, force: true });
}

/** What bash prints when a script is pasted into it beside the data folder of the service. */
async function pasted(page: string, script: string, service: Service): Promise<string> {
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
  return stdout;
}

/** At landing a page with both is read once, as most readers do; `npm run test:walks` follows curl too. */
function waysOf(page: string): Way[] {
  if (!hasBothWays(page)) return ['curl'];
  return ARE_RULES_ON_BOTH ? ['the command line', 'curl'] : ['the command line'];
}

describe('the guide', () => {
  const ways = guidePages.flatMap((page) => waysOf(page).map((way) => [page, way] as const));
  for (const [page, way] of ways) {
    test(`every example of ${page} works when pasted, with ${way}, on a fresh installation`, async () => {
      const examples = examplesOf(page, way);
      assert.ok(examples.length > 0, 'a page has examples');
      const service = await install(settingsOf(page));
      const script = [END_JOBS, ...blocksOf('README.md', 'sh'), ...examples].join('\n');
      const stdout = await pasted(page, script, service);
      assert.doesNotMatch(stdout, /"error"/);
      await uninstall(service);
    });
  }

  test('pages use the command line', () => {
    const others = guidePages.filter(
      (page) => !/^coffer |[|&(] ?coffer |& coffer /m.test(examplesOf(page, 'the command line').join('')),
    );
    assert.deepEqual(
      others,
      ['regions.md'],
      'its commands need several installations: cli/src/regions.test.ts has them',
    );
  });

  test('the list of pages names every page', () => {
    const list = readGuidePage('README.md');
    for (const page of guidePages) assert.ok(list.includes(`(${page})`), page);
  });
});

describe('pages outside the guide', () => {
  let service: Service;
  before(async () => {
    service = await install();
  });
  after(() => uninstall(service));

  test('the first five minutes of README.md work when pasted', async () => {
    const readme = readFileSync(join(HOME, 'README.md'), 'utf8');
    const [, minutes = ''] = /^```sh\n(export PATH=.*?)^```$/ms.exec(readme) ?? [];
    assert.match(minutes, /coffer connections create/);
    const script = minutes.replaceAll('http://127.0.0.1:7400', service.url).replaceAll('$PWD', HOME);
    const stdout = await pasted('README.md', `export COFFER_CONFIG_DIR=$PWD/data/cli\n${script}`, service);
    // In a pipe a value is not followed by a line break: first the owner's, then the rotated one that the program reads.
    assert.match(stdout, /the key has 3 characters\ncorrect horse\S{16,}WHEN /);
    assert.match(stdout, /secrets:read +vault\/shop\/db\/password/);
  });

  /** Texts that are written over several lines, or around a value, in one piece with `…` for the value. */
  const sources = globSync('server/src/**/*.ts', { cwd: HOME })
    .map((file) => readFileSync(join(HOME, file), 'utf8'))
    .join('\n')
    .replaceAll(/['`]\s*\+\s*['`]/g, '')
    .replaceAll(/\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}/g, '…');
  const text = readFileSync(join(HOME, 'docs/operations.md'), 'utf8');
  const quotes = [...text.matchAll(/^> (.+)$/gm)].map((match) => String(match[1]));

  test('operations.md quotes what the service says', () => {
    assert.ok(quotes.length > 10);
    const pieces = quotes.flatMap((quote) => quote.split('…')).map((piece) => piece.replace(/^[-.\s]+|\s+$/g, ''));
    assert.deepEqual(
      pieces.filter((piece) => piece.length > 3 && !sources.includes(piece)),
      [],
    );
  });

  test('operations.md names metrics that exist', async () => {
    const answer = await service.call('GET', '/metrics');
    const named = [...text.matchAll(/`(cv_[a-z0-9_]+)`/g)].map((match) => String(match[1]));
    assert.ok(named.length > 4);
    for (const name of named) assert.ok(answer.text.includes(`# TYPE ${name} `), name);
  });
});
