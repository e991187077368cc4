import { closeSync, constants, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { StartError } from './data-folder.ts';

const SUFFIX = '-commits';
const DIGITS = 10;
const FORM = /^\d{10}\n$/;
/** What `user_version`, in the head of SQLite's file, holds; after the last number comes the first. */
const NUMBERS = 2 ** 31;

/**
 * SQLite takes a log that was cut off for one that ended there, and goes on without the commits it held. So each of them carries a number,
 * which is written to a file of its own once it is durable, and a database that does not know the last number has lost something.
 * That file is not waited for: a kill leaves it as it is, and after a power cut it may be too old, which never refuses a database that is whole.
 */
export class CommitMark {
  readonly #file: string;
  #fd: number | null = null;
  #number = 0;

  /** `numberNow` says which commit the database knows as its last, and changes nothing; it is asked only after an end that was not in good order. */
  constructor(databaseFile: string, numberNow: () => number) {
    this.#file = `${databaseFile}${SUFFIX}`;
    const last = lastNumber(this.#file);
    if (last !== null && isLater(last, numberNow())) throw lostCommits(databaseFile, this.#file);
  }

  /** The database is open, and this is its last commit. */
  begin(number: number): void {
    this.#number = number;
  }

  /** For the commit that is about to be made. */
  get next(): number {
    return (this.#number + 1) % NUMBERS;
  }

  /** It is durable. */
  committed(): void {
    this.#number = this.next;
    try {
      const { O_CREAT, O_WRONLY } = constants;
      this.#fd ??= openSync(this.#file, O_CREAT | O_WRONLY, 0o600);
      writeSync(this.#fd, `${String(this.#number).padStart(DIGITS, '0')}\n`, 0);
    } catch {
      // The commit is made and cannot be taken back. The mark stays at an older one, which only means that a loss of this one goes unnoticed.
    }
  }

  /** Before the database is closed in good order, after which its log is gone. */
  remove(): void {
    try {
      if (this.#fd !== null) closeSync(this.#fd);
      rmSync(this.#file, { force: true });
    } catch {
      // On a disk that can no longer be written it stays, and is true all the same: the rest has to be closed.
    }
    this.#fd = null;
  }
}

function lastNumber(file: string): number | null {
  try {
    const text = readFileSync(file, 'utf8');
    return FORM.test(text) ? Number(text) : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function isLater(a: number, b: number): boolean {
  const ahead = (a - b + NUMBERS) % NUMBERS;
  return ahead > 0 && ahead < NUMBERS / 2;
}

function lostCommits(databaseFile: string, file: string): StartError {
  return new StartError(
    `The database ${databaseFile} is older than it was: changes that were acknowledged are missing. Put back ${databaseFile}-wal, which belongs to it, ` +
      `or restore a backup; or, to go on without those changes, keep a copy of the folder and remove ${file}. Nothing was changed.`,
  );
}
