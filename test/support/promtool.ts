import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { unpackedPackages } from '../cluster/debian-packages.ts';
import { Unavailable } from '../cluster/go-programs.ts';

export interface PromtoolResult {
  code: number;
  output: string;
}

/** Runs Prometheus' own checker, with standard input if it is given. */
export type Promtool = (args: readonly string[], input?: string) => Promise<PromtoolResult>;

/** The installed promtool, or that of Debian's package; or why it cannot be had. */
export async function findPromtool(): Promise<Promtool | { missing: string }> {
  const path = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'promtool'))
    .find((file) => existsSync(file));
  try {
    const program = path ?? join(await unpackedPackages(['prometheus']), 'usr/bin/promtool');
    return (args, input) => run(program, args, input);
  } catch (error) {
    if (error instanceof Unavailable) return { missing: `promtool is not installed, and ${error.message}` };
    throw error;
  }
}

function run(program: string, args: readonly string[], input?: string): Promise<PromtoolResult> {
  return new Promise((resolve) => {
    const child = execFile(program, [...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr });
    });
    child.stdin?.end(input ?? '');
  });
}
