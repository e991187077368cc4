import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CACHE, Unavailable } from './go-programs.ts';

const DOWNLOAD_TIMEOUT_MS = 120_000;
const run = promisify(execFile);

/** The folder of Debian's packages, unpacked and not installed. It is cached under the name of the first one. */
export async function unpackedPackages(packages: readonly string[]): Promise<string> {
  const folder = join(CACHE, packages[0] ?? '');
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const work = mkdtempSync(join(CACHE, 'packages-'));
  try {
    await run('apt-get', ['download', ...packages], { cwd: work, timeout: DOWNLOAD_TIMEOUT_MS });
    for (const file of readdirSync(work)) await run('dpkg', ['-x', join(work, file), join(work, 'root')]);
    renameSync(join(work, 'root'), folder);
  } catch (error) {
    const reason = (error as Error).message.split('\n')[0];
    throw new Unavailable(`Debian’s package of ${packages[0]} cannot be had here: ${reason}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}
