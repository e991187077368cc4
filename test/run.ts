import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { bundle } from './bundle.ts';
import { SUITES, WHOLE_SUITE, weightOf } from './suites.ts';
import { BUNDLE_VARIABLE } from './support/bundled.ts';
import { POSTGRES_VARIABLE, prepareMigratedDatabase, startQuickPostgres } from './support/postgres.ts';

/**
 * Runs test files with one PostgreSQL server for all of them. Arguments choose files by a part of their path; an option chooses a suite of
 * `suites.ts`, with its own limits: `--seed` for what is random, `--seconds` or `--rounds` for the fuzzer, `--examples` for schemathesis.
 * Files in `test/` get a process each; those beside the code share one with some others.
 */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean' },
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
const suite = SUITES.find(({ name }) => options[name] === true) ?? WHOLE_SUITE;
Object.assign(process.env, suite.env);
if (options.fuzz) process.env['COFFER_TEST_FUZZ_SECONDS'] = options.seconds;
if (options.rounds !== undefined) process.env['COFFER_TEST_FUZZ_ROUNDS'] = options.rounds;
if (options.seed !== undefined) {
  process.env['COFFER_TEST_FUZZ_SEED'] = options.seed;
  process.env['COFFER_TEST_SCHEMATHESIS_SEED'] = options.seed;
}
if (options.examples !== undefined) process.env['COFFER_TEST_SCHEMATHESIS_EXAMPLES'] = options.examples;

/** Loading the service takes longer than most unit tests run, so their files share processes. */
function grouped(all: readonly string[]): string[] {
  const [alone, together] = [all.filter(isAlone), all.filter((file) => !isAlone(file))];
  const groups = Math.ceil(together.length / GROUP_FILES);
  const paths = Array.from({ length: groups }, (_, group) => {
    const imports = together
      .filter((_, i) => i % groups === group)
      .map((file) => `import ${JSON.stringify(resolve(file))};`);
    const path = join(workFolder, `group-${group + 1}.test.mjs`);
    writeFileSync(path, imports.join('\n'));
    return path;
  });
  return [...alone, ...paths];
}

/** A test that is declared after a top-level `await` would be lost in a group, since the runner does not wait for it there. */
function isAlone(file: string): boolean {
  return file.startsWith('test/') || AWAITS_AT_TOP.test(readFileSync(file, 'utf8'));
}

const AWAITS_AT_TOP = /^(?!.*\basync\b)\S.*\bawait\b|^await\b/m;
const GROUP_FILES = 8;
const SLOWEST_SHOWN = 30;
const FILES = ['server', 'client', 'cli', 'test', 'bench'].map((folder) => `${folder}/**/*.test.ts`);
const files = globSync(FILES)
  .filter((file) => !file.includes('node_modules'))
  .filter((file) => (positionals.length === 0 ? suite.has(file) : positionals.some((part) => file.includes(part))))
  // The longest files start first, so that no processor waits for one of them at the end.
  .toSorted((a, b) => weightOf(b) - weightOf(a));
if (files.length === 0) {
  process.stderr.write('No test file matches.\n');
  process.exit(1);
}

process.env['NODE_COMPILE_CACHE'] ??= resolve('node_modules/.cache/coffer-tests');
const workFolder = mkdtempSync(join(tmpdir(), 'coffer-suite-'));
const postgres = suite.needsPostgres ? await startQuickPostgres() : null;
if (postgres !== null) {
  await bundle(workFolder);
  process.env[BUNDLE_VARIABLE] = workFolder;
  await prepareMigratedDatabase(postgres.url);
  process.env[POSTGRES_VARIABLE] = postgres.url;
}
const counts = { passed: 0, failed: 0, skipped: 0 };
const processes = grouped(files);
const execArgv = ['--import', resolve('test/preloaded/untracked-promises.ts')];
// One more process than there are processors, since tests often wait.
const stream = run({
  files: processes,
  execArgv,
  concurrency: availableParallelism() + 1,
  timeout: suite.fileMinutes * 60_000,
});
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
await postgres?.remove();
rmSync(workFolder, { recursive: true, force: true });

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
