/** Some of the test files, and how they are run. */
export interface Suite {
  /** Folders, each with a slash at its end, and single files. */
  paths: readonly string[];
  env: Record<string, string>;
  /** How long one process may take. */
  processMinutes: number;
  needsPostgres: boolean;
  /** Whether its files must be on a disk, because that is part of what is tested. */
  isOnDisk: boolean;
  /** How much source one process runs, unless the usual size fits. */
  processBytesMax?: number;
}

/** A suite with a command of its own. */
interface NamedSuite extends Suite {
  name: string;
  /** The folders and files that take minutes, or need other tools, and run in this suite alone. `npm test` leaves them out. */
  apart: readonly string[];
  /** Of its folders, files that it leaves out. */
  except?: readonly string[];
}

export function hasFile({ paths, except = [] }: Pick<NamedSuite, 'paths' | 'except'>, file: string): boolean {
  return paths.some((path) => (path.endsWith('/') ? file.startsWith(path) : file === path)) && !except.includes(file);
}

const USUAL = { env: {}, processMinutes: 30, needsPostgres: true, isOnDisk: false } as const;

/** A suite of folders that run nowhere else. */
function apart(name: string, folders: readonly string[], change: Partial<Suite> = {}): NamedSuite {
  return { ...USUAL, name, paths: folders, apart: folders, ...change };
}

const EXPORTS = 'cli/src/migrate/exports.test.ts';

/** Files outside the folders of `walks` with tests that run more there. */
const FURTHER_WALKS = [
  'cli/src/agent/renewal.test.ts',
  'cli/src/commands/login.test.ts',
  'cli/src/migrate/openbao.test.ts',
  'client/src/coffer.test.ts',
  'test/agent-hosts.test.ts',
  'test/docs/declarations.test.ts',
  'test/docs/guide.test.ts',
  'test/dpop.test.ts',
  'test/exporters.test.ts',
  'test/generated-clients.test.ts',
  'test/observability/logs.test.ts',
  'test/observability/traces.test.ts',
  'test/webhook-events.test.ts',
  'test/webhook-formats.test.ts',
  'test/zero-knowledge/zero-knowledge-boundary.test.ts',
] as const;

export const SUITES: readonly NamedSuite[] = [
  {
    ...USUAL,
    name: 'quick',
    // What most changes touch: the kernel, what is detected as a secret, house rules, and what people use most. On SQLite alone.
    paths: [
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
    ],
    apart: [],
    // They measure memory and time, or pay what a hash of a password really costs.
    except: [
      'server/src/kernel/authz/compiled-size.test.ts',
      'server/src/kernel/authz/matching-cost.test.ts',
      'server/src/kernel/base/bounded-cache.test.ts',
      'server/src/kernel/crypto/passwords.test.ts',
      'server/src/kernel/crypto/root-key.test.ts',
      'server/src/kernel/fairness/background-share.test.ts',
      'server/src/kernel/observability/turn-monitor.test.ts',
    ],
    env: { COFFER_TEST_DATABASES: 'sqlite', COFFER_TEST_PROPERTY_RUNS: '20' },
    processMinutes: 10,
    needsPostgres: false,
    // Loading the service costs more than most of its files, so a few processes run them all.
    processBytesMax: 300_000,
  },
  apart('crash', ['test/crash/'], { env: { COFFER_TEST_CRASH_KILLS: '100' }, processMinutes: 10, isOnDisk: true }),
  {
    ...USUAL,
    name: 'faults',
    paths: ['test/faults/', 'test/crash/', 'test/audit-faults.test.ts'],
    apart: ['test/faults/'],
    env: { COFFER_TEST_REKEY_KILLS: '10' },
    processMinutes: 30,
    isOnDisk: true,
  },
  {
    ...USUAL,
    name: 'fuzz',
    paths: ['test/fuzz/'],
    apart: [],
    env: { COFFER_TEST_FUZZ_SECONDS: '120' },
    processMinutes: 60,
  },
  apart('siem', ['test/siem/'], { processMinutes: 30 }),
  // The first run downloads and builds what it needs.
  apart('seals', ['test/seals/'], { needsPostgres: false, processMinutes: 30 }),
  {
    ...USUAL,
    name: 'interoperability',
    paths: ['test/interoperability/', 'test/certificate-clients.test.ts', 'test/generated-clients.test.ts'],
    apart: ['test/interoperability/'],
    // A client in Rust takes ten minutes to compile on a busy machine.
    processMinutes: 60,
  },
  apart('schemathesis', ['test/schemathesis/'], { processMinutes: 60 }),
  apart('regions', ['test/regions/']),
  apart('ha', ['test/ha/'], { processMinutes: 30 }),
  {
    ...USUAL,
    name: 'histories',
    paths: ['test/histories/'],
    apart: ['test/histories/runs/'],
    env: { COFFER_TEST_HISTORIES_SECONDS: '90' },
  },
  apart('operate', ['test/operate/']),
  {
    ...USUAL,
    name: 'walks',
    paths: ['test/isolation/', 'test/matrix/', 'server/src/features/', ...FURTHER_WALKS],
    apart: [],
    env: { COFFER_TEST_BOTH: '1' },
    processMinutes: 30,
  },
  {
    ...USUAL,
    name: 'turns',
    paths: ['test/turns/', 'test/attacks/long-turn.test.ts'],
    apart: ['test/turns/'],
    processMinutes: 30,
  },
  {
    ...USUAL,
    name: 'console',
    // Of the console, `npm test` has what crosses pages: sessions, attacks, roles, budgets, secrets, sign-on and passkeys.
    paths: ['test/console/', 'cli/src/scripts.test.ts', EXPORTS],
    apart: ['test/console/pages/', EXPORTS],
    env: { COFFER_TEST_BOTH: '1' },
  },
  apart('deploy', ['test/deploy/'], { processMinutes: 60 }),
  // The first run builds what it needs, which takes some minutes.
  apart('cluster', ['test/cluster/'], { processMinutes: 60 }),
];

const LEFT_OUT = { paths: SUITES.flatMap((suite) => suite.apart) };

/** What `npm test` runs. */
export function isAtLanding(file: string): boolean {
  return !hasFile(LEFT_OUT, file);
}

/** How `npm test` runs it, and what is named by a part of its path. */
export const AT_LANDING: Suite = { ...USUAL, paths: [] };
