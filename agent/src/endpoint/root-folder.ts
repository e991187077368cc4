import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  type Stats,
} from 'node:fs';
import { dirname, join } from 'node:path';

/** Why a file was not read. */
export type Unread = 'absent' | 'denied' | 'not_a_file' | 'unsafe' | 'out_of_reach';

export class UnreadError extends Error {
  readonly reason: Unread;

  constructor(reason: Unread, cause?: unknown) {
    super(`a file was not read: ${reason}`, { cause });
    this.reason = reason;
  }
}

export interface FileContent {
  bytes: Buffer;
  isCut: boolean;
}

/** The account for which sshd would read a file. */
export interface Reader {
  uid: number;
  gid: number;
  home: string;
  isStrict: boolean;
  /** Whether a group has nobody but the account in it, for a file of this owner. */
  isOwnGroup(gid: number, owner: number): boolean;
}

export interface KeysContent extends FileContent {
  /** Only the sshd of Debian and Ubuntu takes such a file, and only from a group of the account's own. */
  isGroupWritable: boolean;
}

interface Resolved {
  path: string;
  /** The folders on the way and the file itself; those that the permission model hides are left out. */
  passed: Stats[];
}

const LINKS_MAX = 40;
const CHUNK_BYTES = 64 * 1024;
const READ = 4;
const SEARCH = 1;
const WRITABLE_BY_GROUP = 0o020;
const WRITABLE_BY_ALL = 0o002;

/** Files below a folder that stands for `/`. Links are followed inside it, as after a chroot. */
export class RootFolder {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  get isHost(): boolean {
    return this.#root === '/';
  }

  /** At most `bytesMax` bytes of a regular file. A pipe or a device is never waited for. */
  read(path: string, bytesMax: number): FileContent {
    return this.#open(this.#resolve(path), bytesMax, () => undefined);
  }

  /** As sshd reads a file of keys: only what the account could read itself and, with StrictModes, nobody else could have written. */
  readAs(reader: Reader, path: string, bytesMax: number): KeysContent {
    const resolved = this.#resolve(path);
    const folders = resolved.passed.slice(0, -1);
    if (!folders.every((folder) => mayUse(reader, folder, SEARCH))) throw new UnreadError('out_of_reach');
    let isGroupWritable = false;
    const content = this.#open(resolved, bytesMax, (file) => {
      if (!mayUse(reader, file, READ)) throw new UnreadError('out_of_reach');
      if (!reader.isStrict) return;
      const checked = [file, ...this.#checkedFolders(reader, resolved.path)];
      if (!checked.every((stats) => isSafe(reader, stats))) throw new UnreadError('unsafe');
      isGroupWritable = checked.some(({ mode }) => (mode & WRITABLE_BY_GROUP) !== 0);
    });
    return { ...content, isGroupWritable };
  }

  /** OpenSSH's safe_path: the folders of the file up to the home, or up to the root if it is not below the home. */
  #checkedFolders(reader: Reader, path: string): Stats[] {
    const home = this.#resolve(reader.home).path;
    const top = this.#real([]);
    const folders: Stats[] = [];
    for (let folder = dirname(path); ; folder = dirname(folder)) {
      const stats = folder === top && this.isHost ? null : this.#stats(folder, true);
      if (stats !== null) folders.push(stats);
      if (folder === home || folder === top) return folders;
    }
  }

  /** The names in a folder, sorted; none if there is no such folder. */
  names(path: string): string[] {
    try {
      return readdirSync(this.#resolve(path).path).sort();
    } catch (error) {
      const unread = asUnread(error);
      if (unread.reason === 'absent') return [];
      throw unread;
    }
  }

  #resolve(path: string): Resolved {
    let waiting = path.split('/');
    let done: string[] = [];
    let passed: Stats[] = [];
    for (let links = 0; waiting.length > 0; ) {
      const [name = '', ...rest] = waiting;
      waiting = rest;
      if (name === '' || name === '.') continue;
      if (name === '..') {
        done = done.slice(0, -1);
        continue;
      }
      const at = this.#real([...done, name]);
      const stats = this.#stats(at, waiting.length > 0);
      if (stats?.isSymbolicLink()) {
        if (++links > LINKS_MAX) throw new UnreadError('not_a_file');
        const target = orUnread(() => readlinkSync(at));
        if (target.startsWith('/')) done = [];
        waiting = [...target.split('/'), ...waiting];
        continue;
      }
      done = [...done, name];
      if (stats !== null) passed = [...passed, stats];
    }
    return { path: this.#real(done), passed };
  }

  /** A folder on the way, such as /etc, may be hidden by the permission model although the file in it is not: then it is used as it is. */
  #stats(path: string, isFolder: boolean): Stats | null {
    try {
      return lstatSync(path);
    } catch (error) {
      if (isFolder && this.isHost && codeOf(error) === 'ERR_ACCESS_DENIED') return null;
      throw asUnread(error);
    }
  }

  #real(names: readonly string[]): string {
    return join(this.#root, ...names);
  }

  #open({ path, passed }: Resolved, bytesMax: number, accept: (file: Stats) => void): FileContent {
    const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
    // Some devices do something when they are opened, so none is; what is opened is checked again.
    if (!passed.at(-1)?.isFile()) throw new UnreadError('not_a_file');
    const file = orUnread(() => openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW));
    try {
      const stats = fstatSync(file);
      if (!stats.isFile()) throw new UnreadError('not_a_file');
      accept(stats);
      return readUpTo(file, bytesMax);
    } finally {
      closeSync(file);
    }
  }
}

function readUpTo(file: number, bytesMax: number): FileContent {
  const chunks: Buffer[] = [];
  let total = 0;
  while (total <= bytesMax) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const count = orUnread(() => readSync(file, chunk, 0, CHUNK_BYTES, null));
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    total += count;
  }
  const bytes = Buffer.concat(chunks);
  return { bytes: bytes.subarray(0, bytesMax), isCut: total > bytesMax };
}

function mayUse({ uid, gid }: Reader, stats: Stats, right: number): boolean {
  if (uid === 0) return true;
  const shift = stats.uid === uid ? 6 : stats.gid === gid ? 3 : 0;
  return ((stats.mode >> shift) & right) !== 0;
}

function isSafe({ uid, isOwnGroup }: Reader, { uid: owner, gid, mode }: Stats): boolean {
  if (owner !== 0 && owner !== uid) return false;
  if ((mode & WRITABLE_BY_ALL) !== 0) return false;
  return (mode & WRITABLE_BY_GROUP) === 0 || isOwnGroup(gid, owner);
}

function orUnread<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw asUnread(error);
  }
}

const REASONS: Readonly<Record<string, Unread>> = {
  ENOENT: 'absent',
  ENOTDIR: 'absent',
  ENXIO: 'not_a_file',
  EISDIR: 'not_a_file',
  ELOOP: 'not_a_file',
  ENAMETOOLONG: 'not_a_file',
  ERR_INVALID_ARG_VALUE: 'not_a_file',
};

/** An error that is not about this file, such as a failing disk, is denied too: nothing is said about what the file holds. */
function asUnread(error: unknown): UnreadError {
  return error instanceof UnreadError ? error : new UnreadError(REASONS[codeOf(error)] ?? 'denied', error);
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? '';
}
