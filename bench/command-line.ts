import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Settings } from './cases.ts';
import { DATABASE_NAMES, type Installations } from './installation.ts';
import type { Row, Table } from './report.ts';

const RUNS = 15;
const SECRETS = 10;

/** What a command costs before and with its request, beside Node itself; and what `run` adds to the command that it runs. */
export async function commandLine(installations: Installations, settings: Settings): Promise<Table[]> {
  const rows: Row[] = [];
  const bundle = join(installations.newFolder(), 'coffer.mjs');
  execFileSync(process.execPath, ['scripts/bundle-cli.ts', bundle], { stdio: 'ignore' });
  for (const database of settings.databases) {
    const one = await installations.start(database, { vaults: 1, perVault: SECRETS });
    const home = mkdtempSync(join(tmpdir(), 'coffer-bench-'));
    const { name: vault = '', tokens: [token = ''] = [] } = one.vaults[0] ?? {};
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      COFFER_CONFIG_DIR: home,
      COFFER_URL: `http://127.0.0.1:${one.port}`,
      COFFER_TOKEN: token,
    };
    const measured: [what: string, args: string[]][] = [
      ['node -e 0', ['-e', '0']],
      ['coffer --help', ['cli/main.js', '--help']],
      ['coffer profiles (no request)', ['cli/main.js', 'profiles']],
      ['coffer whoami (one request)', ['cli/main.js', 'whoami']],
      ['coffer whoami, as one file', [bundle, 'whoami']],
      [`coffer run -- true, ${SECRETS} secrets`, ['cli/main.js', 'run', '--vault', vault, '--all', '--', 'true']],
    ];
    for (const [what, args] of measured) rows.push({ database: DATABASE_NAMES[database], what, ...least(args, env) });
    rows.push({ database: DATABASE_NAMES[database], what: 'true', ...leastOf('true', [], env) });
    rmSync(home, { recursive: true });
  }
  const columns = [
    { key: 'database', heading: 'database' },
    { key: 'what', heading: 'command' },
    { key: 'processor', heading: 'processor ms', digits: 0 },
    { key: 'elapsed', heading: 'elapsed ms', digits: 0 },
  ];
  return [{ name: 'command line', title: `The least of ${RUNS} runs`, columns, rows, notes: [] }];
}

interface Cost {
  processor: number;
  elapsed: number;
}

const least = (args: readonly string[], env: Record<string, string>) => leastOf(process.execPath, args, env);

function leastOf(program: string, args: readonly string[], env: Record<string, string>): Cost {
  const costs = Array.from({ length: RUNS }, () => costOf(program, args, env));
  return {
    processor: Math.min(...costs.map(({ processor }) => processor)),
    elapsed: Math.min(...costs.map(({ elapsed }) => elapsed)),
  };
}

/** The shell knows what its children took: the second line of `times` is theirs, for user and system. */
function costOf(program: string, args: readonly string[], env: Record<string, string>): Cost {
  const script = '"$@" > /dev/null || exit 1; times >&2';
  const startedAt = performance.now();
  const { stderr, status } = spawnSync('sh', ['-c', script, 'sh', program, ...args], { env, encoding: 'utf8' });
  const elapsed = performance.now() - startedAt;
  if (status !== 0) throw new Error(`${args.join(' ')} failed`);
  const [, children = ''] = stderr.trim().split('\n').slice(-2);
  const ms = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, seconds]) => Number(minutes) * 60_000 + Number(seconds) * 1000,
  );
  return { processor: ms.reduce((sum, one) => sum + one, 0), elapsed };
}
