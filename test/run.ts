import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { bundle } from './bundle.ts';
import { BUNDLE_VARIABLE } from './support/bundled.ts';
import { POSTGRES_VARIABLE, prepareMigratedDatabase, startQuickPostgres } from './support/postgres.ts';

/**
 * Runs every test file, with one PostgreSQL for all of them. Files in `test/` have a process each; those beside the code
 * share one with some more. Arguments choose files by a part of their
 * path; `--crash` runs the long crash test alone, `--faults` everything that breaks something on purpose, and `--fuzz` the long fuzzing, for so
 * many `--seconds` or `--rounds` on each database, from a `--seed`; `--schemathesis` lets schemathesis try, with so many `--examples` of each
 * operation, from a `--seed`. What is in `test/faults/` and `test/schemathesis/` takes minutes, and runs only then or when it is named.
 */
const WALKS = /isolation|matrix|nodes|crash|faults|fuzz/;
const weightOf = (file: string) => statSync(file).size * (WALKS.test(file) ? 10 : 1);
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    crash: { type: 'boolean' },
    faults: { type: 'boolean' },
    fuzz: { type: 'boolean' },
    schemathesis: { type: 'boolean' },
    seed: { type: 'string' },
    seconds: { type: 'string', default: '120' },
    rounds: { type: 'string' },
    examples: { type: 'string' },
  },
});
const FAULTS = [
  'test/faults/',
  'crash.test',
  'faults.test',
  'test/journal.test',
  'test/rekey.test',
  'test/backup.test',
];
const chosen = options.crash
  ? ['test/crash.test.ts']
  : options.faults
    ? FAULTS
    : options.fuzz
      ? ['test/fuzz.test.ts']
      : options.schemathesis
        ? ['test/schemathesis/']
        : positionals;
if (options.crash) process.env['COFFER_TEST_CRASH_KILLS'] ??= '50';
if (options.faults) process.env['COFFER_TEST_REKEY_KILLS'] ??= '10';
if (options.fuzz) process.env['COFFER_TEST_FUZZ_SECONDS'] = options.seconds;
if (options.rounds !== undefined) process.env['COFFER_TEST_FUZZ_ROUNDS'] = options.rounds;
if (options.seed !== undefined) {
  process.env['COFFER_TEST_FUZZ_SEED'] = options.seed;
  process.env['COFFER_TEST_SCHEMATHESIS_SEED'] = options.seed;
}
if (options.examples !== undefined) process.env['COFFER_TEST_SCHEMATHESIS_EXAMPLES'] = options.examples;

/** Loading all of the service takes longer than most files take to run. */
function grouped(all: readonly string[]): string[] {
  const [alone, together] = [all.filter(isAlone), all.filter((file) => !isAlone(file))];
  const groups = Math.ceil(together.length / GROUP_FILES);
  const paths = Array.from({ length: groups }, (_, group) => {
    const imports = together
      .filter((_, i) => i % groups === group)
      .map((file) => `import ${JSON.stringify(resolve(file))};`);
    const path = join(bundled, `group-${group + 1}.test.mjs`);
    writeFileSync(path, imports.join('\n'));
    return path;
  });
  return [...alone, ...paths];
}

/** Those beside the code are short and start nothing. Tests after an `await` outside of any function would not be waited for in a group. */
function isAlone(file: string): boolean {
  return file.startsWith('test/') || AWAITS_AT_TOP.test(readFileSync(file, 'utf8'));
}

const AWAITS_AT_TOP = /^(?!.*\basync\b)\S.*\bawait\b|^await\b/m;
const GROUP_FILES = 8;
const LONG = ['test/faults/', 'test/schemathesis/'];
const SLOWEST_SHOWN = 30;
const FILE_TIMEOUT_MS = (options.fuzz || options.schemathesis ? 60 : options.faults ? 30 : 10) * 60 * 1000;
const files = globSync([
  'server/**/*.test.ts',
  'client/**/*.test.ts',
  'cli/**/*.test.ts',
  'test/**/*.test.ts',
  'bench/**/*.test.ts',
])
  .filter((file) => !file.includes('node_modules'))
  .filter((file) =>
    chosen.length === 0 ? !LONG.some((part) => file.includes(part)) : chosen.some((part) => file.includes(part)),
  )
  // What walks every endpoint takes longest and what is long is rarely quick: begun first, nothing is waited for alone at the end.
  .toSorted((a, b) => weightOf(b) - weightOf(a));
if (files.length === 0) {
  process.stderr.write('No test file matches.\n');
  process.exit(1);
}

// Nearly every process loads all of the service.
process.env['NODE_COMPILE_CACHE'] ??= resolve('node_modules/.cache/coffer-tests');
const bundled = mkdtempSync(join(tmpdir(), 'coffer-bundle-'));
await bundle(bundled);
process.env[BUNDLE_VARIABLE] = bundled;
const postgres = await startQuickPostgres();
await prepareMigratedDatabase(postgres.url);
process.env[POSTGRES_VARIABLE] = postgres.url;
const counts = { passed: 0, failed: 0, skipped: 0 };
const processes = grouped(files);
// One more than there are processors: much of what is tested is waiting.
const execArgv = ['--import', resolve('test/support/untracked-promises.ts')];
const stream = run({ files: processes, execArgv, concurrency: availableParallelism() + 1, timeout: FILE_TIMEOUT_MS });
/** A process that dies quietly takes the rest of its file with it, so what was announced must also have ended. */
const announced = new Map<string, number>();
const filesHeard = new Set<string>();
interface Announced {
  name: string;
  file?: string;
  line?: number;
}
const count = ({ name, file = '', line = 0 }: Announced, by: number) => {
  const place = `${name} (${relative('.', file)}:${line})`;
  announced.set(place, (announced.get(place) ?? 0) + by);
  if (line > 1) filesHeard.add(relative('.', file));
};
stream.on('test:enqueue', (one) => count(one, 1));
stream.on('test:complete', (one) => count(one, -1));
stream.on('test:pass', ({ skip, details }) => {
  if (details.type === 'suite') return;
  counts[skip === undefined ? 'passed' : 'skipped']++;
});
stream.on('test:fail', ({ details }) => {
  // A suite whose own hooks failed has checked something after its tests, for example what the service logged.
  const isOfItsTests = (details.error as { failureType?: string }).failureType === 'subtestsFailed';
  if (details.type !== 'suite' || !isOfItsTests) counts.failed++;
});
const durations: [name: string, ms: number][] = [];
stream.on('test:complete', ({ name, nesting, details }) => {
  if (nesting === 0) durations.push([name, details.duration_ms]);
});
const report = stream.compose(new spec());
report.pipe(process.stdout, { end: false });
await new Promise((done) => report.once('end', done));
await postgres.remove();
rmSync(bundled, { recursive: true, force: true });

const cutOff = [
  ...files.filter((file) => !filesHeard.has(file)),
  ...[...announced].filter(([, open]) => open > 0).map(([place]) => place),
];
for (const what of cutOff) process.stdout.write(`\nbegan and never ended: ${what}\n`);
counts.failed += cutOff.length;
const slowest = durations.toSorted(([, a], [, b]) => b - a).slice(0, SLOWEST_SHOWN);
for (const [name, ms] of slowest) process.stdout.write(`${(ms / 1000).toFixed(0).padStart(5)} s  ${name}\n`);
const { passed, failed, skipped } = counts;
process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`);
// Said outright: a library used here ends the process by its own idea of success.
process.exit(failed > 0 || passed === 0 ? 1 : 0);
