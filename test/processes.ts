import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import type { EventLine } from './event-lines.ts';

/** A process of tests, and the files that it runs. */
export interface TestProcess {
  /** The folder of its files, and a number if the folder has several processes. */
  name: string;
  files: string[];
}

/**
 * Files with a process of their own: those that take longest, which start first, and those whose result depends on what else the process did, because
 * they measure memory or turns of the event loop, or hold leases of seconds.
 */
const ALONE: readonly string[] = [
  'test/docs/guide.test.ts',
  'test/isolation/isolation.test.ts',
  'cli/src/scripts.test.ts',
  'cli/src/scan/scan.test.ts',
  'test/console/pages.test.ts',
  'test/matrix/matrix.test.ts',
  'test/operator/start.test.ts',
  'test/operator/coffer-command.test.ts',
  'test/query-plans.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/packages/pack.test.ts',
  'test/attacks/long-turn.test.ts',
  'test/attacks/slow-json.test.ts',
  'test/attacks/slow-text.test.ts',
  'test/attacks/body-hoarder.test.ts',
  'test/hostile-input.test.ts',
  'test/regions.test.ts',
  'test/region-tenants.test.ts',
  'server/src/features/rollups/rollup-log.test.ts',
  'server/src/features/secrets/rotation/rotation-backend.test.ts',
  'server/src/features/secrets/rotation/rotation-in-progress.test.ts',
  'server/src/kernel/authz/compiled-size.test.ts',
  'server/src/kernel/base/bounded-cache.test.ts',
  'server/src/kernel/crypto/passwords.test.ts',
  'server/src/kernel/fairness/background-share.test.ts',
  'server/src/kernel/observability/turn-monitor.test.ts',
];
/** Folders of tests beside their source. The files of each share processes. */
const SOURCE: readonly string[] = [
  'server/src/',
  'client/src/',
  'detection/src/',
  'cli/src/',
  'agent/src/',
  'bench/',
  'evaluate/',
];
/** Other folders whose files share processes. Files elsewhere mostly start programs, and run beside each other. */
const SHARED: readonly string[] = [
  'test',
  'test/attacks',
  'test/console',
  'test/docs',
  'test/isolation',
  'test/matrix',
  'test/observability',
  'test/upgrade',
  'test/zero-knowledge',
];
/** How much source one process runs. Loading the service takes longer than most files run, and code that has run is faster. */
const PROCESS_BYTES_MAX = 250_000;

/** Processes for some files, those that take longest first. */
export function processesOf(files: readonly string[], bytesMax = PROCESS_BYTES_MAX): TestProcess[] {
  const first = ALONE.filter((file) => files.includes(file));
  const shared = files.filter((file) => !first.includes(file) && isShared(file));
  const others = files.filter((file) => !first.includes(file) && !isShared(file));
  const groups = Object.entries(Object.groupBy(shared, folderOf)).flatMap(([folder, all = []]) =>
    dealtOut(folder, all, bytesMax),
  );
  const alone = (file: string): TestProcess => ({ name: file, files: [file] });
  const rest = [...groups, ...others.map(alone)].toSorted((a, b) => bytesOf(b.files) - bytesOf(a.files));
  return [...first.map(alone), ...rest];
}

const isShared = (file: string) => SOURCE.some((folder) => file.startsWith(folder)) || SHARED.includes(dirname(file));

/** `server/src/kernel`, `test/attacks`, `cli/src`: the folder that the files of one process have in common. */
const folderOf = (file: string) =>
  file
    .split('/')
    .slice(0, -1)
    .slice(0, file.startsWith('server/') ? 3 : 2)
    .join('/');
const bytesOf = (files: readonly string[]) => files.reduce((sum, file) => sum + statSync(file).size, 0);

/** Into parts of about equal length, the longest file first in each. */
function dealtOut(folder: string, files: readonly string[], bytesMax: number): TestProcess[] {
  const parts = Math.ceil(bytesOf(files) / bytesMax);
  const longestFirst = files.toSorted((a, b) => bytesOf([b]) - bytesOf([a]));
  return Array.from({ length: Math.min(parts, files.length) }, (_, part) => ({
    name: parts === 1 ? folder : `${folder} ${part + 1} of ${parts}`,
    files: longestFirst.filter((_file, i) => i % parts === part),
  }));
}

export interface Outcome {
  name: string;
  lines: EventLine[];
  seconds: number;
}

const running = new Set<ChildProcess>();

/** Ends at once what still runs. */
export function endProcesses(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Runs each process, as many at a time as `atOnce`, and prints what it says when it ends. */
export async function runProcesses(
  processes: readonly TestProcess[],
  options: { folder: string; atOnce: number; flags: readonly string[]; minutesMax: number },
): Promise<Outcome[]> {
  const waiting = processes.entries();
  const outcomes: Outcome[] = [];
  const next = async () => {
    for (const [at, one] of waiting) outcomes.push(await runOne(one, join(options.folder, `process-${at}`), options));
  };
  await Promise.all(Array.from({ length: options.atOnce }, next));
  return outcomes;
}

/** Writes the program and the events of the process beside `path`. */
async function runOne(
  { name, files }: TestProcess,
  path: string,
  { flags, minutesMax }: { flags: readonly string[]; minutesMax: number },
): Promise<Outcome> {
  const startedAt = performance.now();
  const events = `${path}.events`;
  const program = `${path}.mjs`;
  writeFileSync(program, programOf(files));
  const child = spawn(
    process.execPath,
    [
      ...flags,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      `--test-reporter=${join(import.meta.dirname, 'event-lines.ts')}`,
      `--test-reporter-destination=${events}`,
      program,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  running.add(child);
  const timer = setTimeout(() => child.kill('SIGKILL'), minutesMax * 60_000);
  const ended = new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(String(signal ?? code)));
  });
  const [printed, how] = await Promise.all([text(child.stdout), ended]);
  clearTimeout(timer);
  running.delete(child);
  process.stdout.write(printed);
  const lines = readLines(events);
  // An error outside of all tests ends the process with a code, and is in no event.
  const isExplained = how === '0' || lines.some(({ type }) => type === 'failed');
  const unexplained = {
    type: 'failed',
    name: `the process ended with ${how}`,
    file: files.join(', '),
    error: '',
  } as const;
  if (!isExplained) lines.push(unexplained);
  return { name, lines, seconds: (performance.now() - startedAt) / 1000 };
}

/**
 * Imports all files before the first test begins, as `node --test --test-isolation=none` does. That command loads its runner before what is
 * preloaded, so `preloaded/untracked-promises.ts` would have no effect.
 */
function programOf(files: readonly string[]): string {
  return files.map((file) => `import '${pathToFileURL(resolve(file)).href}';\n`).join('');
}

function readLines(file: string): EventLine[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  // A process that was killed may have left half a line.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as EventLine);
}
