import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import dotenv from 'dotenv';
import { parseDotenv } from '../../server/src/features/transfer/dotenv.ts';

type Variables = Record<string, string>;

/** Something that people have a file of environment variables read by. */
export interface EnvReader {
  name: string;
  /** Why it cannot be tried here, or false. */
  skip: string | false;
  read(files: readonly string[]): Variables[];
}

const each = (read: (text: string) => Variables) => (files: readonly string[]) => files.map(read);

export const BASH: EnvReader = {
  name: 'bash',
  skip: succeeds('bash', '-c', 'env -0') ? false : 'bash is not installed',
  read: readByBash,
};

/** Readers of what is written as `dotenv`. */
export const DOTENV_READERS: readonly EnvReader[] = [
  {
    name: 'our import',
    skip: false,
    read: each((text) => Object.fromEntries(parseDotenv(text).entries.map(({ key, value }) => [key, value]))),
  },
  { name: 'npm dotenv', skip: false, read: each((text) => dotenv.parse(text)) },
  { name: 'npm dotenv (fast)', skip: false, read: each((text) => dotenv.parse(text, { fast: true })) },
  { name: 'Node', skip: false, read: each((text) => ({ ...parseEnv(text) }) as Variables) },
  BASH,
  {
    name: 'python-dotenv',
    skip: succeeds('python3', '-c', 'import dotenv') ? false : 'python-dotenv is not installed',
    read: readByPython,
  },
];

/** What `docker run` reads. A container cannot be started everywhere, so its rules are written down here. */
export const DOCKER_READER: EnvReader = { name: 'docker --env-file', skip: false, read: each(readAsDocker) };

function succeeds(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

function output(command: string, args: string[], env: NodeJS.ProcessEnv): string {
  const { status, stdout, error } = spawnSync(command, args, { env, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status !== 0) throw error ?? new Error(`${command} ended with ${status}`);
  return stdout;
}

function withFiles<T>(texts: readonly string[], use: (paths: string[]) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-env-'));
  try {
    const paths = texts.map((text, i) => {
      const path = join(folder, `${i}.env`);
      writeFileSync(path, text);
      return path;
    });
    return use(paths);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const IN_BASH = 'env=$(command -v env); for file; do (set -a; . "$file"; exec "$env" -0); printf "\\0"; done';

/** Each file in a shell of its own. What counts is what a program that is started there gets, beyond what it gets with an empty file. */
function readByBash(files: readonly string[]): Variables[] {
  const env = { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' };
  const found = withFiles(['', ...files], (paths) => output('bash', ['-c', IN_BASH, 'bash', ...paths], env));
  const [before = new Map<string, string>(), ...environments] = found.split('\0\0').slice(0, -1).map(pairsIn);
  return environments.map((pairs) =>
    Object.fromEntries([...pairs].filter(([name, value]) => before.get(name) !== value)),
  );
}

function pairsIn(records: string): Map<string, string> {
  const pairs = records.split('\0').map((record): [string, string] => {
    const at = record.indexOf('=');
    return [record.slice(0, at), record.slice(at + 1)];
  });
  return new Map(pairs);
}

/** Every variable that bash sets or watches by itself. */
export function variablesOfBash(): string[] {
  return output('bash', ['-c', 'compgen -v'], { PATH: process.env['PATH'] }).split('\n').filter(Boolean);
}

const IN_PYTHON =
  'import json, sys; from dotenv import dotenv_values; print(json.dumps([dotenv_values(p, encoding="utf-8") for p in sys.argv[1:]]))';

function readByPython(files: readonly string[]): Variables[] {
  return JSON.parse(withFiles(files, (paths) => output('python3', ['-c', IN_PYTHON, ...paths], process.env)));
}

/** The longest that Go's `bufio.Scanner` takes, with its line feed. */
const SCANNER_BYTES_MAX = 64 * 1024;

/** After `parseKeyValueFile` in docker/cli, pkg/kvfile/kvfile.go, and Go's `bufio.ScanLines`. */
function readAsDocker(text: string): Variables {
  const variables: Variables = {};
  for (const scanned of text.replace(/^\ufeff/, '').split('\n')) {
    if (Buffer.byteLength(scanned) >= SCANNER_BYTES_MAX) throw new Error('bufio.Scanner: token too long');
    const line = scanned.replace(/\r$/, '').trimStart();
    if (line === '' || line.startsWith('#')) continue;
    const at = line.indexOf('=');
    const name = line.slice(0, at);
    if (at < 1 || /[ \t]/.test(name)) throw new Error('a line has no name, or one with blanks');
    variables[name] = line.slice(at + 1);
  }
  return variables;
}
