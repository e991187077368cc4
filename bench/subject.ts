import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { resolve as absolute, dirname, join } from 'node:path';

const START_TIMEOUT_MS = 60_000;

export interface Started {
  child: ChildProcess;
  port: number;
  tlsPort: number | null;
  /** From the spawn to that line. */
  readyMs: number;
}

/** The command of `npm start` of a checkout, such as `node --disable-sigusr1 server/main.js`: what comes before `||`. */
function startScript(checkout: string): string {
  const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  return scripts.start.split(' || ')[0] ?? '';
}

/** The program of a checkout that serves. Releases differ in where it is. */
export function serverOf(checkout: string): string {
  return join(checkout, startScript(checkout).split(' ').at(-1) ?? '');
}

/** The settings of the allocator and of Node's heap that `npm start` of the file's checkout uses, if it starts that file. */
function asNpmStarts(file: string): { flags: string[]; env: Record<string, string> } {
  const script = startScript(checkoutOf(absolute(file)));
  if (!file.endsWith(script.split(' ').at(-1) ?? '')) return { flags: [], env: {} };
  const assignments = script.matchAll(/(MALLOC_\w+)=(\d+)/g);
  return {
    flags: script.match(/--\S+/g) ?? [],
    env: Object.fromEntries([...assignments].map(([, name, value]) => [name, value])),
  };
}

function checkoutOf(file: string): string {
  const folder = dirname(file);
  return existsSync(join(folder, 'package-lock.json')) ? folder : checkoutOf(folder);
}

/** Starts a process and waits for the line that ends in its port. With `ipc` it can be sent messages. */
export function startProcess(
  file: string,
  args: string[],
  env: Record<string, string>,
  more: 'ipc'[] = [],
): Promise<Started> {
  const spawnedAt = performance.now();
  const usual = asNpmStarts(file);
  const child = spawn(process.execPath, [...usual.flags, file, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...usual.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit', ...more],
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${file} did not start`)), START_TIMEOUT_MS);
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const port = /ready (?:on |at [^\s"]+:)(\d+)/.exec(output)?.[1];
      if (port === undefined) return;
      const readyMs = performance.now() - spawnedAt;
      clearTimeout(timer);
      const tlsPort = /(?:taken at |"tls_url":")https:[^\s"]+:(\d+)/.exec(output)?.[1];
      resolve({ child, port: Number(port), tlsPort: tlsPort === undefined ? null : Number(tlsPort), readyMs });
    });
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)));
  });
}

export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

/** Processor time used so far, or null where the system does not tell. */
export function cpuSeconds(pid: number): number | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return null;
  }
}

export function memoryMiB(pid: number): number | null {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  } catch {
    return null;
  }
}
