import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A program that is built from the Go module proxy. Go checks each module against its public log of checksums. */
export interface GoProgram {
  name: string;
  module: string;
  version: string;
  package: string;
}

export const KUBE_APISERVER: GoProgram = {
  name: 'kube-apiserver',
  module: 'k8s.io/kubernetes',
  version: 'v1.36.3',
  package: 'k8s.io/kubernetes/cmd/kube-apiserver',
};

export const HELM: GoProgram = {
  name: 'helm',
  module: 'helm.sh/helm/v3',
  version: 'v3.22.0',
  package: 'helm.sh/helm/v3/cmd/helm',
};

export const ACTIONLINT: GoProgram = {
  name: 'actionlint',
  module: 'github.com/rhysd/actionlint',
  version: 'v1.7.12',
  package: 'github.com/rhysd/actionlint/cmd/actionlint',
};

const BUILD_TIMEOUT_MS = 50 * 60_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const run = promisify(execFile);

/** Where programs stay that were built, for every checkout of this user. */
export const CACHE = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'coffer');

/** Why a test cannot run here. */
export class Unavailable extends Error {}

/** The path of the program, built if it is not cached. That takes minutes. */
export async function builtProgram(program: GoProgram): Promise<string> {
  const path = join(CACHE, `${program.name}-${program.version}`);
  if (existsSync(path)) return path;
  await run('go', ['version']).catch(() => {
    throw new Unavailable('Go is not installed');
  });
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'build-'));
  try {
    writeFileSync(join(folder, 'go.mod'), await moduleOf(program));
    const built = join(folder, program.name);
    await go(['build', '-mod=mod', '-trimpath', '-ldflags=-s -w', '-o', built, program.package], folder);
    // A build that was interrupted leaves nothing under the name of the program.
    renameSync(built, path);
    return path;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Kubernetes replaces its own parts by folders of its repository; as modules they have the same version, with 0 for 1. */
async function moduleOf({ module, version }: GoProgram): Promise<string> {
  const { GoMod } = JSON.parse(await downloaded(`${module}@${version}`)) as { GoMod: string };
  const text = readFileSync(GoMod, 'utf8');
  const [goLine = ''] = /^go .*$/m.exec(text) ?? [];
  const parts = [...text.matchAll(/^\s*(?:require )?(k8s\.io\/\S+) v0\.0\.0(?=\s)/gm)].map(([, part]) => part);
  const own = version.replace(/^v1\./, 'v0.');
  return [
    'module coffer.test/program',
    goLine,
    `require ${module} ${version}`,
    ...parts.map((part) => `replace ${part} => ${part} ${own}`),
    '',
  ].join('\n');
}

async function downloaded(module: string): Promise<string> {
  try {
    const { stdout } = await run('go', ['mod', 'download', '-json', module], { cwd: CACHE, timeout: BUILD_TIMEOUT_MS });
    return stdout;
  } catch (error) {
    throw new Unavailable(`the Go module proxy did not deliver ${module}: ${(error as Error).message.split('\n')[0]}`);
  }
}

/** Gently, since a build would take every processor for minutes. */
async function go(args: string[], cwd: string): Promise<void> {
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: process.env['GOFLAGS'] ?? '-p=2' };
  await run('nice', ['-n', '10', 'go', ...args], { cwd, env, timeout: BUILD_TIMEOUT_MS, maxBuffer: OUTPUT_BYTES_MAX });
}
