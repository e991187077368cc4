import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after } from 'node:test';
import { copyMigratedFile } from './migrated-file.ts';

const ROOT = join(import.meta.dirname, '../..');
/** As a line of text or in a log of JSON. */
export const READY_LINE = /Coffer is ready at ([^\s"]+)/;
const TLS_LINE = /(?:Client certificates are taken at |"tls_url":")(https:[^\s;"]+)/;
const READY_TIMEOUT_MS = 60_000;
const RUN_TIMEOUT_MS = 120_000;

/** Whatever a test does, or fails to do, no process and no folder of it outlives the file. */
const running = new Set<ChildProcess>();
const folders = new Set<string>();
after(async () => {
  await Promise.all([...running].map((child) => endNow(child)));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function endNow(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('close', resolve));
  signalTo(child, 'SIGKILL');
  if (running.has(child)) await ended;
}

/** Those that lead a process group are ended with all of it, or what npm started would outlive npm. */
const leaders = new WeakSet<ChildProcess>();
function signalTo(child: ChildProcess, signal: NodeJS.Signals): void {
  if (leaders.has(child) && running.has(child)) process.kill(-Number(child.pid), signal);
  else child.kill(signal);
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface ProcessOptions {
  env?: Record<string, string>;
  dataDir?: string;
  databaseUrl?: string | undefined;
  /** A file of `test/preloaded/`, which runs in the process before anything of ours does. */
  preloaded?: string;
  /** By `npm start`, as the leader of a process group of its own, like the first process of a container. */
  isByNpm?: boolean;
  /** The entry file of another copy of the service, such as an installed package. */
  program?: string;
  /** How many files and connections it may have open at a time. */
  descriptors?: number;
  /** What it gets on standard input. */
  input?: string;
  /** The folder of another release, whose program is run. */
  root?: string;
}

/** A process of ours that has been started; nothing is said about how far it has come. */
export interface Started {
  pid: number;
  dataDir: string;
  stdout(): string;
  stderr(): string;
  kill(signal?: NodeJS.Signals): void;
  exited: Promise<Exit>;
}

export interface ServiceProcess extends Started {
  url: string;
  /** Empty if there is no listener for it. */
  tlsUrl: string;
  /** How long it took from the spawn to the line that says it is ready. */
  readyMs: number;
  adminToken(): string;
}

/** A folder that is not there yet, as at a first start, and is removed with the file's tests. */
export function newDataDir(): string {
  const parent = mkdtempSync(join(tmpdir(), 'coffer-process-'));
  folders.add(parent);
  return join(parent, 'data');
}

function migratedDataDir(): string {
  const dataDir = newDataDir();
  mkdirSync(dataDir, { mode: 0o700 });
  copyMigratedFile(dataDir);
  return dataDir;
}

export function startProcess(script: string, args: readonly string[], options: ProcessOptions): Started {
  const dataDir = options.dataDir ?? newDataDir();
  const preloaded =
    options.preloaded === undefined ? [] : ['--import', join(ROOT, 'test/preloaded', options.preloaded)];
  const root = options.root ?? ROOT;
  const path = resolve(root, script);
  const [program, programArgs] = options.isByNpm
    ? ['npm', ['start']]
    : limited(options.descriptors, [process.execPath, ...preloaded, path, ...args]);
  const child = spawn(program, programArgs, {
    cwd: root,
    detached: options.isByNpm === true,
    // Nothing of this process' environment but what a program needs: a CV_ variable or a test's option must not leak in.
    env: {
      PATH: process.env['PATH'] ?? '',
      ...(process.env['NODE_COMPILE_CACHE'] && { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }),
      CV_PORT: '0',
      CV_TLS_PORT: '0',
      CV_LOG_FORMAT: 'json',
      CV_DRAIN_SECONDS: '0',
      CV_DATA_DIR: dataDir,
      ...(options.databaseUrl !== undefined && { CV_DATABASE_URL: options.databaseUrl }),
      ...options.env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(options.input ?? '');
  running.add(child);
  if (options.isByNpm) leaders.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child);
      resolve({ code, signal, stdout, stderr });
    });
  });
  assert.ok(child.pid !== undefined, 'the process could not be started');
  return {
    pid: child.pid,
    dataDir,
    stdout: () => stdout,
    stderr: () => stderr,
    kill: (signal = 'SIGKILL') => void child.kill(signal),
    exited,
  };
}

function limited(descriptors: number | undefined, command: string[]): [string, string[]] {
  const [program = '', ...args] = command;
  if (descriptors === undefined) return [program, args];
  return ['/bin/sh', ['-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh', ...command]];
}

/** The service as an operator runs it, on SQLite with the schema already there unless the test says on what. */
export function startServiceProcess(options: ProcessOptions = {}): Started {
  const isOnCurrentSqlite = options.databaseUrl === undefined && options.root === undefined;
  const dataDir = options.dataDir ?? (isOnCurrentSqlite ? migratedDataDir() : newDataDir());
  return startProcess(options.program ?? 'server/main.js', [], { ...options, dataDir });
}

/** The same, once it says that it is ready; fails if it ends or stays silent instead. */
export async function spawnService(options: ProcessOptions = {}): Promise<ServiceProcess> {
  const spawnedAt = performance.now();
  const started = startServiceProcess(options);
  let hasExited = false;
  started.exited.then(() => {
    hasExited = true;
  });
  for (;;) {
    const url = READY_LINE.exec(started.stdout())?.[1];
    const readyMs = performance.now() - spawnedAt;
    if (url !== undefined) {
      const adminToken = () => readFileSync(join(started.dataDir, 'admin.token'), 'utf8').trim();
      const tlsUrl = TLS_LINE.exec(started.stdout())?.[1] ?? '';
      return { ...started, url, tlsUrl, readyMs, adminToken };
    }
    if (hasExited || readyMs > READY_TIMEOUT_MS) {
      started.kill();
      assert.fail(`the service did not become ready: ${started.stderr()}${started.stdout()}`);
    }
    await pause(5);
  }
}

/** Runs the service until it ends by itself, as it does when it cannot start. */
export function runService(options: ProcessOptions = {}): Promise<Exit> {
  return untilExit(startServiceProcess(options));
}

export function startCoffer(args: readonly string[], options: ProcessOptions = {}): Started {
  return startProcess('cli/main.js', args, options);
}

/** Runs the `coffer` command to its end. */
export function runCoffer(args: readonly string[], options: ProcessOptions = {}): Promise<Exit> {
  return untilExit(startCoffer(args, options));
}

async function untilExit(started: Started): Promise<Exit> {
  const timer = setTimeout(() => started.kill(), RUN_TIMEOUT_MS);
  const exit = await started.exited;
  clearTimeout(timer);
  assert.equal(exit.signal, null, `it did not end by itself: ${exit.stderr}${exit.stdout}`);
  return exit;
}

/** Ends it as an operator would, and asserts that it ended well. */
export async function stopService(service: Started): Promise<void> {
  service.kill('SIGTERM');
  const { code, stderr } = await service.exited;
  assert.equal(code, 0, stderr);
}

export async function killService(service: Started): Promise<void> {
  service.kill('SIGKILL');
  await service.exited;
}

export async function assertWorks(service: ServiceProcess, token = service.adminToken()): Promise<void> {
  const answer = await fetch(`${service.url}/auth/me`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(answer.status, 200, await answer.text());
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export function randomBetween(min: number, max: number): number {
  return Math.round(min + Math.random() * (max - min));
}
