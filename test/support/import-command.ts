import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

const HOME = join(import.meta.dirname, '../..');

const running = new Set<ChildProcess>();
const folder = mkdtempSync(join(tmpdir(), 'coffer-import-'));
after(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

export interface ImportExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface StartedImport {
  child: ChildProcess;
  exited: Promise<ImportExit>;
}

export function startImport(args: readonly string[], env: Record<string, string>, input = ''): StartedImport {
  const child = spawn(process.execPath, ['cli/main.js', 'import', ...args], {
    cwd: HOME,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  running.add(child);
  const out = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      out[name] += text;
    });
  }
  // A command that is refused before it reads its input closes it.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const exited = new Promise<ImportExit>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child);
      resolve({ code, signal, ...out });
    });
  });
  return { child, exited };
}

export function runImport(args: readonly string[], env: Record<string, string>, input = ''): Promise<ImportExit> {
  return startImport(args, env, input).exited;
}
