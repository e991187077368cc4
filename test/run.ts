import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { POSTGRES_VARIABLE, startPostgres } from './support/postgres.ts';

/**
 * Runs every test file, each in its own process, with one PostgreSQL for all of them. Arguments choose files by a part of their
 * path; `--crash` runs the long crash test alone.
 */
const arguments_ = process.argv.slice(2);
const isCrash = arguments_.includes('--crash');
const chosen = isCrash ? ['test/crash.test.ts'] : arguments_;
if (isCrash) process.env['COFFER_TEST_CRASH_KILLS'] ??= '50';

const FILE_TIMEOUT_MS = 10 * 60 * 1000;
const files = globSync(['server/**/*.test.ts', 'cli/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.ts'])
  .filter((file) => !file.includes('node_modules'))
  .filter((file) => chosen.length === 0 || chosen.some((part) => file.includes(part)))
  .sort();
if (files.length === 0) {
  process.stderr.write('No test file matches.\n');
  process.exit(1);
}

const postgres = await startPostgres();
process.env[POSTGRES_VARIABLE] = postgres.url;
const counts = { passed: 0, failed: 0, skipped: 0 };
const stream = run({ files, concurrency: Math.max(2, availableParallelism()), timeout: FILE_TIMEOUT_MS });
/** What began and has not ended: a process that dies quietly in between takes the rest of its file with it. */
const begun = new Map<string, number>();
const nameOf = ({ file = '', name, nesting }: { file?: string; name: string; nesting: number }) =>
  `${file}: ${'  '.repeat(nesting)}${name}`;
const count = (name: string, by: number) => begun.set(name, (begun.get(name) ?? 0) + by);
stream.on('test:start', (one) => count(nameOf(one), 1));
stream.on('test:pass', (one) => count(nameOf(one), -1));
stream.on('test:fail', (one) => count(nameOf(one), -1));
stream.on('test:pass', ({ skip, details }) => {
  if (details.type === 'suite') return;
  counts[skip === undefined ? 'passed' : 'skipped']++;
});
stream.on('test:fail', ({ details }) => {
  if (details.type !== 'suite') counts.failed++;
});
const report = stream.compose(new spec());
report.pipe(process.stdout, { end: false });
await new Promise((resolve) => report.once('end', resolve));
await postgres.remove();

const cutOff = [...begun].filter(([, open]) => open > 0).map(([name]) => name);
for (const name of cutOff) process.stdout.write(`\nbegan and never ended: ${name}\n`);
counts.failed += cutOff.length;
const { passed, failed, skipped } = counts;
process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`);
// Said outright: a library used here ends the process by its own idea of success.
process.exit(failed > 0 || passed === 0 ? 1 : 0);
