import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/**
 * Runs a script that reads like a session at a terminal:
 *
 *     $ printf hunter2 | coffer secrets set db/password     a command, run by sh
 *     > ...                                                 what it prints, line by line; `...` stands for any text
 *     2> Wrote version 1 of shop/db/password.               the same for standard error; lines before and after may be others
 *     ? 4                                                   its exit code, 0 unless given
 *     !> hunter2                                            what is in no output
 *
 *     tty$ coffer login                                     the same at a pseudo-terminal
 *     >> Password                                           waits for this text
 *     << hunter2                                            then types this line
 *
 *     --- .env                                              a file, up to the line ---
 *     A=1
 *     ---
 */
export async function runCliScript(text: string, variables: Record<string, string>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-cli-'));
  try {
    const session = new Session(folder, variables);
    for (const step of stepsIn(text)) await session.run(step);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Step {
  line: number;
  command: string | null;
  isTerminal: boolean;
  stdout: string[];
  stderr: string[];
  absent: string[];
  typed: { after: string; text: string }[];
  exitCode: number;
  file: { name: string; text: string } | null;
}

function stepsIn(text: string): Step[] {
  const steps: Step[] = [];
  const lines = text.split('\n');
  let after = '';
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? '';
    const { sign, rest = '' } = /^(?<sign>tty\$|\$|2>|!>|>>|<<|>|\?|---|#)(?: (?<rest>.*))?$/.exec(line)?.groups ?? {};
    const step = steps.at(-1);
    if (sign === '#' || line.trim() === '') continue;
    if (sign === '---') {
      const end = lines.indexOf('---', i + 1);
      const file = {
        name: rest,
        text: lines
          .slice(i + 1, end)
          .map((one) => `${one}\n`)
          .join(''),
      };
      steps.push({
        line: i + 1,
        command: null,
        isTerminal: false,
        stdout: [],
        stderr: [],
        absent: [],
        typed: [],
        exitCode: 0,
        file,
      });
      i = end;
    } else if (sign === '$' || sign === 'tty$') {
      const isTerminal = sign === 'tty$';
      steps.push({
        line: i + 1,
        command: rest,
        isTerminal,
        stdout: [],
        stderr: [],
        absent: [],
        typed: [],
        exitCode: 0,
        file: null,
      });
    } else if (step === undefined || sign === undefined) assert.fail(`line ${i + 1} means nothing: ${line}`);
    else if (sign === '>') step.stdout.push(rest);
    else if (sign === '2>') step.stderr.push(rest);
    else if (sign === '!>') step.absent.push(rest);
    else if (sign === '?') step.exitCode = Number(rest);
    else if (sign === '>>') after = rest;
    else step.typed.push({ after, text: rest });
  }
  return steps;
}

const NODE = process.execPath;
const CLI = resolve('cli/main.js');
const STEP_MS = 90_000;

class Session {
  readonly #folder: string;
  readonly #env: Record<string, string>;

  constructor(folder: string, variables: Record<string, string>) {
    this.#folder = folder;
    const bin = join(folder, '.bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'coffer'), `#!/bin/sh\nexec '${NODE}' '${CLI}' "$@"\n`, { mode: 0o755 });
    const { TMPDIR, NODE_COMPILE_CACHE } = process.env;
    this.#env = {
      PATH: `${bin}:${process.env['PATH']}`,
      HOME: folder,
      COFFER_CONFIG_DIR: join(folder, '.config'),
      TERM: 'xterm',
      LANG: 'C.UTF-8',
      ...(TMPDIR !== undefined && { TMPDIR }),
      ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
      ...variables,
    };
  }

  async run(step: Step): Promise<void> {
    const { line, command, file, isTerminal, absent } = step;
    if (file !== null) {
      const path = join(this.#folder, file.name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, file.text);
    }
    if (command === null) return;
    const ran = isTerminal ? await this.#atTerminal(step) : await this.#plainly(command);
    const where = `line ${line}: ${command}\n--- stdout\n${ran.stdout}--- stderr\n${ran.stderr}`;
    assert.equal(ran.exitCode, step.exitCode, where);
    if (step.stdout.length > 0)
      assert.match(ran.stdout.replaceAll('\r', ''), patternOf(step.stdout, isTerminal), where);
    for (const one of step.stderr) assert.match(ran.stderr, new RegExp(`^${escaped(one)}$`, 'm'), where);
    for (const one of absent) assert.ok(!`${ran.stdout}${ran.stderr}`.includes(one), `${where} has ${one}`);
  }

  /** Variables, and `$(cat FILE)`, in what is typed. */
  #filledIn(text: string): string {
    return text
      .replaceAll(/\$\(cat ([\w.-]+)\)/g, (_, file: string) => readFileSync(join(this.#folder, file), 'utf8').trim())
      .replaceAll(/\$([A-Z_]+)/g, (_, name: string) => this.#env[name] ?? '');
  }

  async #plainly(command: string): Promise<Ran> {
    const child = spawn('sh', ['-c', command], {
      cwd: this.#folder,
      env: this.#env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    return outcomeOf(child);
  }

  /** `script` of util-linux gives the command a pseudo-terminal, and types what comes on its standard input. */
  async #atTerminal({ command, typed }: Step): Promise<Ran> {
    const child = spawn('script', ['-qec', String(command), '/dev/null'], {
      cwd: this.#folder,
      env: this.#env,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    let shown = '';
    const waiting = [...typed];
    child.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString('utf8');
      const [next] = waiting;
      if (next === undefined || !shown.includes(next.after)) return;
      waiting.shift();
      shown = '';
      child.stdin.write(`${this.#filledIn(next.text)}\r`);
    });
    return outcomeOf(child);
  }
}

export const HAS_TERMINALS = existsSync('/usr/bin/script');

interface Ran {
  stdout: string;
  stderr: string;
  exitCode: number;
}

function outcomeOf(child: ReturnType<typeof spawn>): Promise<Ran> {
  const { promise, resolve: settle, reject } = Promise.withResolvers<Ran>();
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString('utf8');
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  // What it started is in its group, and would otherwise keep its output open.
  const timer = setTimeout(() => process.kill(-Number(child.pid), 'SIGKILL'), STEP_MS);
  child.once('error', reject);
  child.once('close', (code) => settle({ stdout, stderr, exitCode: code ?? -1 }));
  return promise.finally(() => clearTimeout(timer));
}

/** A terminal also shows prompts and what is typed, so there the lines are only a part of what is seen. */
function patternOf(lines: readonly string[], isTerminal: boolean): RegExp {
  const text = lines.map(escaped).join('\n');
  return isTerminal ? new RegExp(text) : new RegExp(`^${text}\n?$`);
}

function escaped(line: string): string {
  return line
    .split('...')
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    .join('[^\\n]*');
}
