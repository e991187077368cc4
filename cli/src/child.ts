import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { constants as system } from 'node:os';
import { delimiter, join } from 'node:path';
import { CommandError } from './failure.ts';

const STOPPING: ReadonlySet<NodeJS.Signals> = new Set(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT']);

export type ChildEnvironment = Record<string, string>;

const EXIT_NOT_FOUND = 127;
const EXIT_NOT_EXECUTABLE = 126;
/** Signals that are meant for the command, not for this process. */
const FORWARDED: readonly NodeJS.Signals[] = [
  'SIGTERM',
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
];

/**
 * Runs a command in place of this process where the platform can do that, so that signals, exit code and terminal are its own. Elsewhere it is a child
 * whose exit code is passed on.
 */
export async function becomeChild(name: string, args: readonly string[], environment: ChildEnvironment): Promise<void> {
  const file = executable(name, environment['PATH'] ?? '');
  if (process.execve !== undefined && process.platform !== 'win32') {
    restoreForSuccessor();
    try {
      process.execve(file, [name, ...args], environment);
    } catch (error) {
      throw cannotStart(name, (error as NodeJS.ErrnoException).code ?? 'unknown error');
    }
  }
  process.exitCode = await startChild(name, args, environment).ended;
}

export interface Child {
  pid: number | undefined;
  kill(signal: NodeJS.Signals): void;
  /** Whether this process was told to end while the command ran. */
  isToldToStop(): boolean;
  /** Its exit code, or 128 and the number of the signal that ended it. */
  ended: Promise<number>;
}

/** A child with this process's terminal. Signals that reach this process alone are passed on; those of the terminal reach both. */
export function startChild(name: string, args: readonly string[], environment: ChildEnvironment): Child {
  executable(name, environment['PATH'] ?? '');
  const isTerminal = process.stdin.isTTY === true;
  // Listened to before the child exists: it can send a signal before this process takes its next step.
  let isToldToStop = false;
  const early: NodeJS.Signals[] = [];
  let pass = (signal: NodeJS.Signals) => void early.push(signal);
  const listeners = FORWARDED.map((signal) => {
    const isOfTerminal = signal === 'SIGINT' || signal === 'SIGQUIT' || signal === 'SIGWINCH';
    const listen = () => {
      if (STOPPING.has(signal)) isToldToStop = true;
      if (!(isTerminal && isOfTerminal)) pass(signal);
    };
    process.on(signal, listen);
    return () => process.off(signal, listen);
  });
  const child = spawn(name, args, { env: environment, stdio: 'inherit' });
  pass = (signal) => void child.kill(signal);
  for (const signal of early) pass(signal);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once('error', (error: NodeJS.ErrnoException) => reject(cannotStart(name, error.code ?? '')));
  child.once('exit', (code, signal) => resolve(code ?? 128 + (system.signals[signal ?? 'SIGKILL'] ?? 0)));
  const ended = promise.finally(() => {
    for (const stop of listeners) stop();
  });
  return { pid: child.pid, kill: (signal) => void child.kill(signal), isToldToStop: () => isToldToStop, ended };
}

/**
 * Node makes pipes non-blocking and ignores two signals, and both would be inherited: programs do not expect either, and would lose input and output.
 */
function restoreForSuccessor(): void {
  for (const stream of [process.stdin, process.stdout, process.stderr]) {
    const { _handle: handle } = stream as { _handle?: { setBlocking?(isBlocking: boolean): void } };
    handle?.setBlocking?.(true);
  }
  for (const signal of ['SIGPIPE', 'SIGXFSZ'] as const) {
    const listen = () => {};
    process.on(signal, listen);
    process.off(signal, listen);
  }
}

/** Where a shell would find the command. */
function executable(name: string, path: string): string {
  if (process.platform === 'win32') return name;
  const candidates = name.includes('/') ? [name] : path.split(delimiter).map((folder) => join(folder || '.', name));
  let isThere = false;
  for (const file of candidates) {
    try {
      if (!statSync(file).isFile()) continue;
      isThere = true;
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // The next folder may have it.
    }
  }
  throw cannotStart(name, isThere ? 'EACCES' : 'ENOENT');
}

function cannotStart(name: string, code: string): CommandError {
  if (code === 'ENOENT') return new CommandError(`There is no command named ${name}.`, EXIT_NOT_FOUND);
  return new CommandError(`${name} cannot be run (${code}).`, EXIT_NOT_EXECUTABLE);
}
