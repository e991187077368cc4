import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';
import { promisify } from 'node:util';

const INSTALL_TIMEOUT_MS = 10 * 60_000;

interface Options {
  cwd: string;
  env?: NodeJS.ProcessEnv;
  /** What it reads on standard input, where tokens belong. */
  input: string;
  timeout: number;
}

/** What a program prints that ends with 0. */
export async function output(
  program: string,
  args: readonly string[],
  { input, ...options }: Options,
): Promise<string> {
  const running = spawn(program, args, { ...options, stdio: 'pipe' });
  const ended = once(running, 'close');
  running.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(running.stdout), text(running.stderr)]);
  const [code] = await ended;
  assert.equal(code, 0, `${program} ended with ${code}: ${stderr.slice(0, 4000)}`);
  return stdout;
}

/** Where the programs of a file with versions of PyPI are, or why they cannot be had. */
export async function installFromPypi(requirements: string): Promise<{ bin: string } | { missing: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-pypi-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const run = promisify(execFile);
  try {
    await run('python3', ['-m', 'venv', folder]);
    const pinned = ['install', '--quiet', '--requirement', requirements];
    await run(join(folder, 'bin/pip'), pinned, { timeout: INSTALL_TIMEOUT_MS });
    return { bin: join(folder, 'bin') };
  } catch (error) {
    return { missing: `Python and PyPI are needed: ${String((error as Error).message).split('\n')[0]}` };
  }
}
