import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { availableParallelism, freemem, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { prepareConsole } from '../server/src/features/console/console-files.ts';
import { createLogger } from '../server/src/kernel/observability/log.ts';
import { bundlePrograms, bundleTests } from './bundle.ts';
import { isOverHttp, SUITES, WHOLE_SUITE, weightOf } from './suites.ts';
import { BUNDLE_VARIABLE } from './support/bundled.ts';
import { POSTGRES_VARIABLE, startQuickPostgres } from './support/postgres.ts';
import { prepareDatabases } from './support/prepared-databases.ts';

/** The variables that pass an option on to the tests. */
const VARIABLES = {
  seed: ['CRASH_SEED', 'FUZZ_SEED', 'HISTORIES_SEED', 'SCHEMATHESIS_SEED'],
  seconds: ['FUZZ_SECONDS', 'HISTORIES_SECONDS'],
  rounds: ['FUZZ_ROUNDS'],
  requests: ['FUZZ_REQUESTS'],
  kills: ['CRASH_KILLS'],
  database: ['DATABASES'],
  examples: ['SCHEMATHESIS_EXAMPLES'],
} as const;

/**
 * Runs test files with one PostgreSQL server for all of them. Arguments choose files by a part of their path; an option chooses a suite of
 * `suites.ts`, with its own limits: `--seed` for what is random, `--seconds`, `--rounds` or `--requests` for the fuzzer, `--kills` for crashes,
 * `--examples` for schemathesis, `--database sqlite` or `postgres` for one of the two. `--name` runs only the tests whose names contain a text.
 * Tests that start processes get one each; others share one with some.
 */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean' },
    crash: { type: 'boolean' },
    faults: { type: 'boolean' },
    fuzz: { type: 'boolean' },
    schemathesis: { type: 'boolean' },
    siem: { type: 'boolean' },
    interoperability: { type: 'boolean' },
    cluster: { type: 'boolean' },
    regions: { type: 'boolean' },
    operate: { type: 'boolean' },
    ha: { type: 'boolean' },
    histories: { type: 'boolean' },
    deploy: { type: 'boolean' },
    console: { type: 'boolean' },
    walks: { type: 'boolean' },
    turns: { type: 'boolean' },
    seed: { type: 'string' },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    requests: { type: 'string' },
    kills: { type: 'string' },
    database: { type: 'string' },
    examples: { type: 'string' },
    name: { type: 'string' },
  },
});
const suite = SUITES.find(({ name }) => options[name] === true) ?? WHOLE_SUITE;
Object.assign(process.env, suite.env);
for (const [option, variables] of Object.entries(VARIABLES)) {
  const value = options[option as keyof typeof VARIABLES];
  if (value !== undefined) for (const variable of variables) process.env[`COFFER_TEST_${variable}`] = value;
}

/**
 * Which files share a process. Loading the service takes longer than most of them run, and code that has run is faster, so only those have one to
 * themselves that start processes of their own, or measure theirs.
 */
function processesOf(all: readonly string[]): string[][] {
  const { alone = [], service = [], unit = [] } = Object.groupBy(all, sharedBy);
  const weight = (files: readonly string[]) => files.reduce((sum, file) => sum + weightOf(file), 0);
  // The longest start first, so that no processor waits for one of them at the end.
  return [...alone.map((file) => [file]), ...dealt(service, SERVICE_FILES), ...dealt(unit, UNIT_FILES)].toSorted(
    (a, b) => weight(b) - weight(a),
  );
}

function sharedBy(file: string): 'alone' | 'service' | 'unit' {
  const text = readFileSync(file, 'utf8');
  // A test that is declared after a top-level `await` would be lost in a group, since the runner does not wait for it there.
  if (AWAITS_AT_TOP.test(text) || IMPORTS_WHAT_IT_FINDS.test(text)) return 'alone';
  if (!isOverHttp(file)) return 'unit';
  return file.startsWith('server/') && !NEEDS_ITS_OWN.test(text) ? 'service' : 'alone';
}

/** Into parts of about equal length, the longest file first in each. */
function dealt(all: readonly string[], size: number): string[][] {
  const parts = Math.ceil(all.length / size);
  return Array.from({ length: parts }, (_, part) => all.filter((_, i) => i % parts === part));
}

/** What each process runs, by its path: a bundle, since loading a thousand files takes longer than many tests run. */
async function bundled(processes: readonly string[][]): Promise<Map<string, string>> {
  const isWhole = ([file = '']: readonly string[]) => !IMPORTS_WHAT_IT_FINDS.test(readFileSync(file, 'utf8'));
  const whole = processes.filter(isWhole);
  const paths = await bundleTests(join(workFolder, 'tests'), whole);
  return new Map(
    processes.map((files) => [paths[whole.indexOf(files)] ?? files.join(), files.join(', ')] as [string, string]),
  );
}

/** Where files are in memory, if there is much room. Most tests only kill processes, which lose nothing there, and never wait for a disk. */
function memoryFolder(): string {
  const folder = '/dev/shm';
  try {
    const { type, bavail, bsize } = statfsSync(folder);
    if (type === TMPFS && bavail * bsize >= MEMORY_BYTES_MIN && freemem() >= MEMORY_BYTES_MIN) return folder;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return tmpdir();
}

const TMPFS = 0x01021994;
const MEMORY_BYTES_MIN = 8 * 1024 ** 3;
const AWAITS_AT_TOP = /^(?!.*\basync\b)\S.*\bawait\b|^await\b/m;
const IMPORTS_WHAT_IT_FINDS = /\bimport\([^']/;
const NEEDS_ITS_OWN =
  /support\/(?:process|browser|console)\.ts|node:child_process|memoryUsage|^(?:before|after)Each\(/m;
const SERVICE_FILES = 5;
const UNIT_FILES = 8;
const SLOWEST_SHOWN = 30;
/** On a busy machine. A run that an option makes longer may take this much more than a file of its suite usually does. */
const KILL_MINUTES_MAX = 0.5;
const REQUESTS_A_MINUTE_MIN = 300;
const MINUTES_MAX =
  suite.fileMinutes +
  Number(options.kills ?? 0) * KILL_MINUTES_MAX +
  Number(options.requests ?? 0) / REQUESTS_A_MINUTE_MIN +
  Number(options.seconds ?? 0) / 10;
const FILES = ['server', 'client', 'detection', 'cli', 'agent', 'test', 'bench', 'evaluate'].map(
  (folder) => `${folder}/**/*.test.ts`,
);
const files = globSync(FILES)
  .filter((file) => !file.includes('node_modules'))
  .filter((file) => (positionals.length === 0 ? suite.has(file) : positionals.some((part) => file.includes(part))))
  .toSorted((a, b) => weightOf(b) - weightOf(a));
if (files.length === 0) {
  process.stderr.write('No test file matches.\n');
  process.exit(1);
}

process.env['NODE_COMPILE_CACHE'] ??= resolve('node_modules/.cache/coffer-tests');
const workFolder = mkdtempSync(join(suite.isOnDisk ? tmpdir() : memoryFolder(), 'coffer-suite-'));
// PostgreSQL runs as a user of its own, and has its folder in this one.
chmodSync(workFolder, 0o711);
process.env['TMPDIR'] = workFolder;
process.once('exit', () => rmSync(workFolder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const postgres = suite.needsPostgres ? await startQuickPostgres() : null;
if (postgres !== null) {
  await bundlePrograms(workFolder);
  process.env[BUNDLE_VARIABLE] = workFolder;
  await prepareDatabases(postgres.url, workFolder);
  await prepareConsole(createLogger({ level: 'warn', format: 'json' }));
  process.env[POSTGRES_VARIABLE] = postgres.url;
}
const counts = { passed: 0, failed: 0, skipped: 0 };
const sources = await bundled(processesOf(files));
const preloaded = ['untracked-promises', ...('COFFER_TEST_PROPERTY_RUNS' in process.env ? ['property-runs'] : [])];
const execArgv = [
  '--enable-source-maps',
  ...preloaded.flatMap((name) => ['--import', resolve(`test/preloaded/${name}.ts`)]),
];
// More processes than there are processors, since tests often wait: with one more, a third of two processors was idle.
const stream = run({
  files: [...sources.keys()],
  execArgv,
  concurrency: availableParallelism() + 2,
  timeout: MINUTES_MAX * 60_000,
  ...(options.name !== undefined && { testNamePatterns: new RegExp(RegExp.escape(options.name)) }),
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
  if (nesting === 0) durations.push([sources.get(name) ?? name, details.duration_ms]);
});
const report = stream.compose(new spec());
report.pipe(process.stdout, { end: false });
await new Promise((done) => report.once('end', done));
await postgres?.remove();

const cutOff = [
  // With `--name` most files have no test to run.
  ...files.filter((file) => !filesHeard.has(file) && options.name === undefined),
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
