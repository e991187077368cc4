import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const INSTALL_MS = 600_000;
/** Test processes that start at the same time install one after the other: apt-get fails while another one runs. */
const LOCK = join(tmpdir(), 'coffer-tests-apt-get.lock');

/** The programs of Debian packages that a test needs, or why they cannot be had. */
export type Installed = { paths: Record<string, string> } | { missing: string };

/**
 * Looks for programs by glob patterns, newest version last, and installs the packages they belong to where that is possible: as root, with apt-get and a
 * mirror that can be reached.
 */
export function installed(packages: readonly string[], programs: Record<string, string>): Installed {
  const first = find(programs);
  if (!('missing' in first)) return first;
  if (process.getuid?.() !== 0)
    return { missing: `${first.missing}, and only root can install ${packages.join(', ')}` };
  try {
    const options = {
      stdio: 'ignore',
      timeout: INSTALL_MS,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    };
    const install = 'apt-get update && apt-get install -y --no-install-recommends "$@"';
    execFileSync('flock', [LOCK, 'sh', '-c', install, 'sh', ...packages], options as never);
  } catch (error) {
    const { code, status } = error as { code?: string; status?: number };
    return { missing: `${first.missing}, and apt-get cannot install ${packages.join(', ')} (${code ?? status})` };
  }
  return find(programs);
}

function find(programs: Record<string, string>): Installed {
  const paths: Record<string, string> = {};
  for (const [name, pattern] of Object.entries(programs)) {
    const path = globSync(pattern).toSorted().at(-1);
    if (path === undefined) return { missing: `${name} is not installed` };
    paths[name] = path;
  }
  return { paths };
}

/** PostgreSQL refuses to run as root, so its programs run as the user that Debian's package makes. */
export function serverUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
