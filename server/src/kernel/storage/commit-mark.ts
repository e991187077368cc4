import { closeSync, constants, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { StartError } from '../base/data-folder.ts';

const SUFFIX = '-commits';
const DIGITS = 10;
const FORM = /^\d{10}\n$/;
/** The range of `user_version` in the header of a SQLite file. The numbers wrap around. */
const NUMBERS = 2 ** 31;

/**
 * SQLite treats a truncated WAL as one that ended there, and silently loses the commits after that point. So each commit carries a number, which is
 * written to a separate file once the commit is durable; a database that does not know the last number has lost commits. That file is not synced: a
 * kill leaves it intact, and after a power cut it may be too old, which never refuses an intact database.
 */
export class CommitMark {
  readonly #file: string;
  #fd: number | null = null;
  #number = 0;

  /** `numberNow` returns the last commit number in the database without changing anything. It is called only after an unclean shutdown. */
  constructor(databaseFile: string, numberNow: () => number) {
    this.#file = `${databaseFile}${SUFFIX}`;
    const last = lastNumber(this.#file);
    if (last !== null && isLater(last, numberNow())) throw lostCommits(databaseFile, this.#file);
  }

  /** Called when the database is open, with the number of its last commit. */
  begin(number: number): void {
    this.#number = number;
  }

  /** The number of the next commit. */
  get next(): number {
    return (this.#number + 1) % NUMBERS;
  }

  /** Called when that commit is durable. */
  committed(): void {
    this.#number = this.next;
    try {
      const { O_CREAT, O_WRONLY } = constants;
      this.#fd ??= openSync(this.#file, O_CREAT | O_WRONLY, 0o600);
      writeSync(this.#fd, `${String(this.#number).padStart(DIGITS, '0')}\n`, 0);
    } catch {
      // The commit is made and cannot be undone. The mark stays at an older number, so a loss of this commit would go undetected.
    }
  }

  /** Called before the database is closed cleanly, which deletes its WAL. */
  remove(): void {
    try {
      if (this.#fd !== null) closeSync(this.#fd);
      rmSync(this.#file, { force: true });
    } catch {
      // If the disk is no longer writable, the file stays, but its number is still correct. Closing must go on.
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
    `The database ${databaseFile} is older than before: acknowledged changes are missing. Restore ${databaseFile}-wal, which belongs to it, ` +
      `or restore a backup; or, to continue without those changes, keep a copy of the folder and remove ${file}. Nothing was changed.`,
  );
}
