import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');
export const PACKAGES = ['server', 'client', 'detection', 'cli', 'agent'] as const;
export type PackageName = (typeof PACKAGES)[number];
const run = promisify(execFile);
const RUN_MS = 120_000;

/** What `npm pack` says of a package. */
export interface Packed {
  name: string;
  version: string;
  filename: string;
  files: { path: string; mode: number }[];
}

const folders = new Set<string>();
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** An empty folder, removed with the file's tests. */
export function newScratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-packages-'));
  folders.add(folder);
  return folder;
}

/** Writes all packages as folders, as `npm run build:packages` does. */
export async function builtPackages(): Promise<string> {
  const folder = join(newScratch(), 'packages');
  const script = join(ROOT, 'scripts/build-packages.ts');
  await run(process.execPath, ['--disable-warning=ExperimentalWarning', script, folder], { timeout: RUN_MS });
  return folder;
}

export async function npm(args: readonly string[], cwd: string): Promise<string> {
  const env = { ...process.env, npm_config_update_notifier: 'false' };
  const { stdout } = await run('npm', args, { cwd, env, timeout: RUN_MS, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

export async function pack(folder: string, options: readonly string[] = []): Promise<Packed> {
  const answer = JSON.parse(await npm(['pack', '--json', ...options], folder)) as Packed[] | Record<string, Packed>;
  const [packed] = Object.values(answer);
  if (packed === undefined) throw new Error('npm packed nothing');
  return packed;
}

/**
 * Unpacks the tarballs below `node_modules` of a new folder, where each finds the packages that it declares and no others. Those come from this
 * checkout, so that no registry is needed.
 */
export async function unpacked(packages: string, names: readonly PackageName[]): Promise<string> {
  const folder = newScratch();
  const modules = join(folder, 'node_modules');
  for (const name of names) {
    const tarballs = newScratch();
    const { filename } = await pack(join(packages, name), ['--pack-destination', tarballs]);
    const target = join(modules, '@coffer', name);
    mkdirSync(target, { recursive: true });
    await run('tar', ['-xzf', join(tarballs, filename), '-C', target, '--strip-components=1']);
  }
  for (const name of names) {
    const { dependencies = {} } = JSON.parse(readFileSync(join(modules, '@coffer', name, 'package.json'), 'utf8'));
    for (const dependency of Object.keys(dependencies)) linkInto(modules, dependency);
  }
  return folder;
}

function linkInto(modules: string, dependency: string): void {
  const link = join(modules, dependency);
  if (existsSync(link) || dependency.startsWith('@coffer/')) return;
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', dependency), link);
}

/** All files below a folder, by their paths in it. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();
}
