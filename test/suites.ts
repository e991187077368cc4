/** Some of the test files, and how they are run. */
export interface Suite {
  has(file: string): boolean;
  env: Record<string, string>;
  /** How long one process may take. */
  processMinutes: number;
  needsPostgres: boolean;
  /** Whether its files must be on a disk, because that is part of what is tested. */
  isOnDisk: boolean;
}

/** Files that take minutes on a busy machine, such as those that kill processes again and again, or wait for somebody who does not answer. */
const SLOW = [
  'test/operator/first-start-killed.test',
  'test/operator/rekey.test',
  'test/operator/backup.test',
  'test/operator/incremental-backup.test',
  'test/attacks/wrong-clock.test',
  'test/attacks/one-tenant.test',
  'test/attacks/noisy-tenant.test',
  'test/attacks/hanging-receivers.test',
  'test/isolation/isolation-timing.test',
];
/** What an operator does on the machine, each with many processes one after the other. */
const DRILLS = [
  'test/operator/workers.test',
  'test/operator/allow-purge.test',
  'test/operator/audit-restore.test',
  'test/operator/restore.test',
  'test/operator/reload.test',
  'approvals/break-glass.test',
];
/** Of the packages, those that need other tools: Python, and the pipelines of other products. */
const PACKAGES = ['test/packages/python.test', 'test/packages/pipelines.test'];
const EXPORTS = 'cli/src/migrate/exports.test';
/** What takes minutes has a command of its own. */
const LONG = [
  'test/faults/',
  'test/schemathesis/',
  'test/siem/',
  'test/interoperability/',
  'test/cluster/',
  'test/regions/',
  'test/ha/',
  'test/operate/',
  'test/attacks/worst-input.test',
  'test/histories/nodes.test',
  'test/histories/regions.test',
  'test/deploy/',
  // Of the console, `npm test` has what crosses pages: sessions, attacks, roles, budgets, secrets, sign-on and passkeys.
  ...[
    'account',
    'anomalies',
    'environments',
    'examples',
    'exporter-actions',
    'find',
    'forms',
    'fortress',
    'machines',
    'operations',
    'organization',
    'people',
    'performance',
    'policies',
  ].map((name) => `test/console/${name}.test`),
  'test/console/vault-members.test',
  'test/console/vault-values.test',
  'test/console/watch.test',
  EXPORTS,
  ...PACKAGES,
  ...DRILLS,
  ...SLOW,
];
const isAmong = (parts: readonly string[]) => (file: string) => parts.some((part) => file.includes(part));

export const WHOLE_SUITE: Suite = {
  has: (file) => !isAmong(LONG)(file),
  env: {},
  processMinutes: 15,
  needsPostgres: true,
  isOnDisk: false,
};

const FAULTS = ['test/faults/', 'audit-faults.test', ...SLOW];
/** What most changes touch: the kernel, what is detected as a secret, house rules, and what people use most. On SQLite alone. */
const QUICK = [
  'server/src/kernel/',
  'server/src/settings/',
  'server/src/assembly/',
  'detection/src/',
  'server/src/features/secrets/secrets.test.ts',
  'server/src/features/vaults/vaults.test.ts',
  'server/src/features/policies/policies.test.ts',
  'server/src/features/tokens/tokens.test.ts',
  'server/src/features/users/users.test.ts',
  'test/smoke.test.ts',
  'test/docs/tidy.test.ts',
  'test/docs/routes.test.ts',
];

export const SUITES: readonly (Suite & {
  name:
    | 'quick'
    | 'crash'
    | 'faults'
    | 'fuzz'
    | 'schemathesis'
    | 'siem'
    | 'interoperability'
    | 'cluster'
    | 'regions'
    | 'ha'
    | 'histories'
    | 'operate'
    | 'deploy'
    | 'console'
    | 'walks'
    | 'turns';
})[] = [
  {
    name: 'quick',
    has: isAmong(QUICK),
    env: { COFFER_TEST_DATABASES: 'sqlite', COFFER_TEST_PROPERTY_RUNS: '20' },
    processMinutes: 10,
    needsPostgres: false,
    isOnDisk: false,
  },
  {
    name: 'crash',
    has: isAmong(['test/faults/crash.test']),
    env: { COFFER_TEST_CRASH_KILLS: '100' },
    processMinutes: 10,
    needsPostgres: true,
    isOnDisk: true,
  },
  {
    name: 'faults',
    has: isAmong(FAULTS),
    env: { COFFER_TEST_REKEY_KILLS: '10' },
    processMinutes: 30,
    needsPostgres: true,
    isOnDisk: true,
  },
  {
    name: 'fuzz',
    has: isAmong(['test/fuzz/fuzz.test']),
    env: { COFFER_TEST_FUZZ_SECONDS: '120' },
    processMinutes: 60,
    needsPostgres: true,
    isOnDisk: false,
  },
  { name: 'siem', has: isAmong(['test/siem/']), env: {}, processMinutes: 30, needsPostgres: true, isOnDisk: false },
  {
    name: 'interoperability',
    has: isAmong(['test/interoperability/', 'test/certificate-clients.test', 'test/generated-clients.test']),
    env: {},
    // A client in Rust takes ten minutes to compile on a busy machine.
    processMinutes: 60,
    needsPostgres: true,
    isOnDisk: false,
  },
  {
    name: 'schemathesis',
    has: isAmong(['test/schemathesis/']),
    env: {},
    processMinutes: 60,
    needsPostgres: true,
    isOnDisk: false,
  },
  {
    name: 'regions',
    has: isAmong(['test/regions/']),
    env: {},
    processMinutes: 15,
    needsPostgres: true,
    isOnDisk: false,
  },
  { name: 'ha', has: isAmong(['test/ha/']), env: {}, processMinutes: 30, needsPostgres: true, isOnDisk: false },
  {
    name: 'histories',
    has: isAmong(['test/histories/']),
    env: { COFFER_TEST_HISTORIES_SECONDS: '90' },
    processMinutes: 15,
    needsPostgres: true,
    isOnDisk: false,
  },
  {
    name: 'operate',
    has: isAmong(['test/operate/', ...DRILLS]),
    env: {},
    processMinutes: 15,
    needsPostgres: true,
    isOnDisk: false,
  },
  {
    name: 'walks',
    has: (file) => isAmong(['test/isolation/', 'test/matrix/', 'server/src/features/'])(file) && !isAmong(SLOW)(file),
    env: { COFFER_TEST_BOTH: '1' },
    processMinutes: 30,
    needsPostgres: true,
    isOnDisk: false,
  },
  {
    name: 'turns',
    has: isAmong(['test/attacks/worst-input.test', 'test/attacks/long-turn.test']),
    env: {},
    processMinutes: 30,
    needsPostgres: true,
    isOnDisk: false,
  },
  {
    name: 'console',
    has: isAmong(['test/console/', 'cli/src/scripts.test', EXPORTS]),
    env: { COFFER_TEST_BOTH: '1' },
    processMinutes: 15,
    needsPostgres: true,
    isOnDisk: false,
  },
  {
    name: 'deploy',
    has: isAmong(['test/deploy/', ...PACKAGES]),
    env: {},
    processMinutes: 60,
    needsPostgres: true,
    isOnDisk: false,
  },
  {
    name: 'cluster',
    has: isAmong(['test/cluster/']),
    env: {},
    // The first run builds what it needs, which takes some minutes.
    processMinutes: 60,
    needsPostgres: true,
    isOnDisk: false,
  },
];
