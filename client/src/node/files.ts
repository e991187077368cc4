import { chmodSync, lstatSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { CofferError } from '../errors.ts';

const PRIVATE = 0o600;
const FILE_BYTES_MAX = 1024 * 1024;

/** The text of a file with a credential, without the line break at its end. */
export function readCredential(file: string): string {
  return readText(file).trim();
}

/** Replaces a file in one step with one that only its owner can read: a reader sees the old or the new one, never a part. */
export function writePrivateFile(file: string, text: string, mode: number = PRIVATE): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) {
    throw new CofferError(`${file} is there, and it is no file: it is not replaced.`, { code: 'INVALID_ARGUMENT' });
  }
  const temporary = `${file}.${process.pid}.${crypto.randomUUID()}`;
  try {
    writeFileSync(temporary, text, { mode: PRIVATE, flag: 'wx', flush: true });
    // Said outright: what is given at creation is cut by the umask.
    chmodSync(temporary, mode);
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function readText(file: string): string {
  try {
    if (statSync(file).size > FILE_BYTES_MAX) throw unreadable(file, 'it is larger than 1 MiB');
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof CofferError) throw error;
    throw unreadable(file, (error as NodeJS.ErrnoException).code ?? 'unknown error');
  }
}

/** Another text after each change of a file. */
export function stampOf(file: string): string {
  try {
    const { mtimeMs, ino, size } = statSync(file);
    return `${mtimeMs} ${ino} ${size}`;
  } catch (error) {
    throw unreadable(file, (error as NodeJS.ErrnoException).code ?? 'unknown error');
  }
}

function unreadable(file: string, why: string): CofferError {
  return new CofferError(`The file ${file} cannot be read: ${why}.`, { code: 'INVALID_ARGUMENT' });
}
