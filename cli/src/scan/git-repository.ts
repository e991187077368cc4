import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, globSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CommandError } from '../failure.ts';

const LOCATE_TIMEOUT_MS = 30_000;
const FORMATS = ['sha1', 'sha256'];
/** Where the repository is, as git tells a hook, and what a process needs. Other variables of git can name programs or files to write. */
const PASSED_ON = [
  ...['PATH', 'HOME', 'USERPROFILE', 'SystemRoot', 'TMPDIR', 'TEMP', 'XDG_CONFIG_HOME'],
  ...['GIT_DIR', 'GIT_COMMON_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_OBJECT_DIRECTORY'],
  ...['GIT_ALTERNATE_OBJECT_DIRECTORIES', 'GIT_CEILING_DIRECTORIES', 'GIT_DISCOVERY_ACROSS_FILESYSTEM'],
  ...['GIT_CONFIG_GLOBAL', 'GIT_CONFIG_SYSTEM', 'GIT_CONFIG_NOSYSTEM'],
];
const QUIET = {
  LC_ALL: 'C',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ATTR_NOSYSTEM: '1',
};

type Environment = Record<string, string>;
type GitProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * The objects and the index of a repository, without its configuration. A configuration can name programs in many ways, also that of a sub-module, so
 * git reads only references with it. Everything else is read through a git directory of our own, which borrows the objects and the index.
 */
export class GitRepository {
  /** The top of the work tree, or null for a bare repository. */
  readonly top: string | null;
  /** Which digests are its ids: sha1 or sha256. */
  readonly format: string;
  readonly #own: string;
  readonly #environment: Environment;

  private constructor(own: string, environment: Environment, format: string) {
    this.format = format;
    this.#own = own;
    this.#environment = environment;
    const { status, stdout } = located('--show-toplevel');
    this.top = status === 0 ? stdout : null;
  }

  /** The repository of the working directory. Close it after use. */
  static open(): GitRepository {
    const format = locate('--show-object-format');
    if (!FORMATS.includes(format)) throw new CommandError(`This repository has an unknown object format: ${format}.`);
    const own = mkdtempSync(join(tmpdir(), 'coffer-scan-git-'));
    try {
      const index = resolve(locate('--git-path', 'index'));
      const objects = resolve(locate('--git-path', 'objects'));
      writeOwnDirectory(own, format);
      borrowFile(resolve(locate('--git-path', 'shallow')), join(own, 'shallow'));
      for (const file of globSync(resolve(locate('--git-dir'), 'sharedindex.*')))
        borrowFile(file, join(own, basename(file)));
      const environment = {
        ...inherited(),
        ...QUIET,
        GIT_DIR: own,
        GIT_INDEX_FILE: isRegular(index) ? index : join(own, 'index'),
        GIT_OBJECT_DIRECTORY: objects,
        GIT_CONFIG_GLOBAL: join(own, 'none'),
        GIT_CONFIG_NOSYSTEM: '1',
      };
      for (const name of ['GIT_COMMON_DIR', 'GIT_WORK_TREE', 'GIT_CONFIG_SYSTEM'])
        Reflect.deleteProperty(environment, name);
      return new GitRepository(own, environment, format);
    } catch (error) {
      rmSync(own, { recursive: true, force: true });
      throw error;
    }
  }

  close(): void {
    rmSync(this.#own, { recursive: true, force: true });
  }

  /** The id of the commit that a name stands for. */
  commitOf(name: string): string {
    if (name.startsWith('-')) throw gitFailed(`${name} is no commit.`);
    return locate('--verify', `${name}^{commit}`);
  }

  /** The newest commit, or null before the first one. */
  head(): string | null {
    const { status, stdout } = located('--verify', '--quiet', 'HEAD');
    return status === 0 ? stdout : null;
  }

  /** Starts git on the objects and the index. */
  start(...args: string[]): GitProcess {
    return spawn('git', args, { cwd: this.#own, env: this.#environment, stdio: ['pipe', 'pipe', 'pipe'] });
  }

  /** What git prints, until it ends well, with this as its input. */
  async *output(git: GitProcess, input?: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
    let complaint = '';
    git.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(0, 1000);
    });
    // A process that ended early says why by its exit code.
    git.stdin.on('error', () => {});
    const ended = new Promise<number | null>((resolved, rejected) => {
      git.once('close', resolved);
      git.once('error', () => rejected(notStarted()));
    });
    // It is awaited when the output was read, and must not be an unhandled rejection before.
    ended.catch(() => {});
    const fed = input === undefined ? Promise.resolve() : pipeline(input, git.stdin);
    fed.catch(() => {});
    try {
      yield* git.stdout as AsyncIterable<Buffer>;
      const code = await ended;
      await fed;
      if (code !== 0) throw gitFailed(complaint);
    } finally {
      git.kill();
    }
  }
}

/** Only these settings have an effect on what is read. The commit graph of the repository is left out, since it could hide commits. */
function writeOwnDirectory(own: string, format: string): void {
  const extension = format === 'sha1' ? '' : `[extensions]\n\tobjectFormat = ${format}\n`;
  const version = format === 'sha1' ? 0 : 1;
  writeFileSync(
    join(own, 'config'),
    `[core]\n\trepositoryFormatVersion = ${version}\n\tbare = true\n\tcommitGraph = false\n${extension}`,
  );
  writeFileSync(join(own, 'HEAD'), 'ref: refs/heads/none\n');
  mkdirSync(join(own, 'refs'));
  mkdirSync(join(own, 'objects'));
}

function borrowFile(from: string, to: string): void {
  if (isRegular(from)) copyFileSync(from, to);
}

function isRegular(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isFile() === true;
}

function inherited(): Environment {
  const all = PASSED_ON.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function locate(...args: string[]): string {
  const { status, stdout, stderr } = located(...args);
  if (status !== 0) throw gitFailed(stderr);
  return stdout;
}

/** Names, places and references, which need the configuration of the repository. `rev-parse` runs nothing that it names. */
function located(...args: string[]) {
  const { status, stdout, stderr, error } = spawnSync('git', ['-c', 'core.fsmonitor=false', 'rev-parse', ...args], {
    encoding: 'utf8',
    env: { ...inherited(), ...QUIET },
    timeout: LOCATE_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ETIMEDOUT') throw gitFailed('it does not end.');
  if (error !== undefined) throw notStarted();
  return { status, stdout: stdout.replace(/\n$/, ''), stderr };
}

function notStarted(): CommandError {
  return new CommandError('git could not be started. Install it, or name the files to scan.');
}

function gitFailed(complaint: string): CommandError {
  const [first = ''] = complaint.split('\n');
  return new CommandError(
    `git failed: ${first} Run it inside a repository, and name a commit, tag or branch with --since.`,
  );
}
