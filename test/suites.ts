import { readFileSync, statSync } from 'node:fs';

/** Some of the test files, and how they are run. */
export interface Suite {
  has(file: string): boolean;
  env: Record<string, string>;
  /** How long one file may take. */
  fileMinutes: number;
  needsPostgres: boolean;
}

/** Files that kill processes again and again, and run with `npm run test:faults`. */
const KILLING = ['crash', 'journal', 'moving-house', 'nodes', 'postgres-faults', 'rekey', 'attacks/wrong-clock'].map(
  (name) => `test/${name}.test`,
);
/** What takes minutes has a command of its own. */
const LONG = ['test/faults/', 'test/schemathesis/', ...KILLING];
const isAmong = (parts: readonly string[]) => (file: string) => parts.some((part) => file.includes(part));

export const WHOLE_SUITE: Suite = {
  has: (file) => !isAmong(LONG)(file),
  env: {},
  fileMinutes: 10,
  needsPostgres: true,
};

const FAULTS = [
  'test/faults/',
  'crash.test',
  'faults.test',
  'test/journal.test',
  'test/rekey.test',
  'test/backup.test',
];
/** Of the tests over HTTP, those of what people use most: on SQLite alone. */
const QUICK = ['smoke', 'secrets', 'vaults', 'policies', 'tokens', 'users', 'tidy', 'routes'].map(
  (name) => `test/${name}.test`,
);
const STARTS_PROCESSES = /node:child_process|support\/process\.ts|support\/postgres\.ts/;

export const SUITES: readonly (Suite & { name: 'quick' | 'crash' | 'faults' | 'fuzz' | 'schemathesis' })[] = [
  {
    name: 'quick',
    has: (file) =>
      file.startsWith('test/') ? isAmong(QUICK)(file) : !STARTS_PROCESSES.test(readFileSync(file, 'utf8')),
    env: { COFFER_TEST_DATABASES: 'sqlite' },
    fileMinutes: 1,
    needsPostgres: false,
  },
  {
    name: 'crash',
    has: isAmong(['test/crash.test']),
    env: { COFFER_TEST_CRASH_KILLS: '50' },
    fileMinutes: 10,
    needsPostgres: true,
  },
  {
    name: 'faults',
    has: isAmong(FAULTS),
    env: { COFFER_TEST_REKEY_KILLS: '10' },
    fileMinutes: 30,
    needsPostgres: true,
  },
  { name: 'fuzz', has: isAmong(['test/fuzz.test']), env: {}, fileMinutes: 60, needsPostgres: true },
  { name: 'schemathesis', has: isAmong(['test/schemathesis/']), env: {}, fileMinutes: 60, needsPostgres: true },
];

/** Files that walk over every endpoint take longest; of others the larger ones usually do. */
const WALKS = /isolation|matrix|nodes|crash|faults|fuzz/;
export const weightOf = (file: string) => statSync(file).size * (WALKS.test(file) ? 10 : 1);
