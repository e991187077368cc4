import { chmodSync, globSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { availableParallelism, freemem, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { prepareConsole } from '../server/src/features/console/console-files.ts';
import { createLogger } from '../server/src/kernel/observability/log.ts';
import { endProcesses, processesOf, runProcesses } from './processes.ts';
import { report } from './report.ts';
import { AT_LANDING, hasFile, isAtLanding, SUITES } from './suites.ts';
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
 * `processes.ts` says which files share a process.
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
    seals: { type: 'boolean' },
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
const named = SUITES.find(({ name }) => options[name as keyof typeof options] === true);
const suite = named ?? AT_LANDING;
Object.assign(process.env, suite.env);
for (const [option, variables] of Object.entries(VARIABLES)) {
  const value = options[option as keyof typeof VARIABLES];
  if (value !== undefined) for (const variable of variables) process.env[`COFFER_TEST_${variable}`] = value;
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
/** On a busy machine. A run that an option makes longer may take this much more than a process of its suite usually does. */
const KILL_MINUTES_MAX = 0.5;
const REQUESTS_A_MINUTE_MIN = 300;
const MINUTES_MAX =
  suite.processMinutes +
  Number(options.kills ?? 0) * KILL_MINUTES_MAX +
  Number(options.requests ?? 0) / REQUESTS_A_MINUTE_MIN +
  Number(options.seconds ?? 0) / 10;
const FILES = ['server', 'client', 'detection', 'cli', 'agent', 'test', 'bench', 'evaluate'].map(
  (folder) => `${folder}/**/*.test.ts`,
);
const files = globSync(FILES)
  .filter((file) => !file.includes('node_modules'))
  .filter((file) => {
    if (positionals.length > 0) return positionals.some((part) => file.includes(part));
    return named === undefined ? isAtLanding(file) : hasFile(named, file);
  })
  .toSorted();
if (files.length === 0) {
  process.stderr.write('No test file matches.\n');
  process.exit(1);
}

process.env['NODE_COMPILE_CACHE'] ??= resolve('node_modules/.cache/coffer-tests');
const workFolder = mkdtempSync(join(suite.isOnDisk ? tmpdir() : memoryFolder(), 'coffer-suite-'));
// PostgreSQL runs as a user of its own, and has its folder in this one.
chmodSync(workFolder, 0o711);
process.env['TMPDIR'] = workFolder;
process.once('exit', () => {
  endProcesses();
  rmSync(workFolder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const postgres = suite.needsPostgres ? await startQuickPostgres() : null;
if (postgres !== null) {
  await prepareDatabases(postgres.url, workFolder);
  await prepareConsole(createLogger({ level: 'warn', format: 'json' }));
  process.env[POSTGRES_VARIABLE] = postgres.url;
}
const preloaded = ['untracked-promises', ...('COFFER_TEST_PROPERTY_RUNS' in process.env ? ['property-runs'] : [])];
// More processes than there are processors, since tests often wait: with one more, a third of two processors was idle.
const outcomes = await runProcesses(processesOf(files, suite.processBytesMax), {
  folder: workFolder,
  atOnce: availableParallelism() + 2,
  flags: [
    ...preloaded.flatMap((name) => ['--import', resolve(`test/preloaded/${name}.ts`)]),
    ...(options.name === undefined ? [] : [`--test-name-pattern=${RegExp.escape(options.name)}`]),
  ],
  minutesMax: MINUTES_MAX,
});
await postgres?.remove();
// With `--name` most files have no test to run.
process.exit(report(options.name === undefined ? files : [], outcomes) ? 0 : 1);
