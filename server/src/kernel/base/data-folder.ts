import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** The service cannot start. The message tells the operator what to do. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

export function makeDataFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  refuseForeignOwner('data folder', folder);
  const mode = statSync(folder).mode & 0o777;
  if ((mode & 0o022) !== 0) {
    throw new StartError(
      `Other users can write to the data folder ${folder} (mode ${mode.toString(8)}). Run: chmod go-w ${folder}`,
    );
  }
}

/**
 * The owner of a file can read and replace it, whatever its mode. The check applies to root too, which would otherwise accept the key and the data
 * of any user: in a container, run as the user that owns the volume. Windows has no such owners.
 */
export function refuseForeignOwner(what: string, path: string): void {
  const own = process.geteuid?.();
  const { uid } = statSync(path);
  if (own === undefined || uid === own) return;
  throw new StartError(
    `The ${what} ${path} belongs to another user (uid ${uid}), and the service runs as uid ${own}. Run it as that user, or run: chown -R ${own} ${path}`,
  );
}

/** With less, a service that started would soon be unavailable again. */
const ROOM_BYTES_MIN = 256 * 1024;

/**
 * Refuses a disk without room. The files of the database may have spare room, so without this check some starts on a full disk would succeed. It
 * writes, because quotas and delayed allocation show in no number, and random bytes, because a disk may compress.
 */
export function refuseFullDisk(folder: string): void {
  const file = join(folder, 'room');
  try {
    writeFileSync(file, randomBytes(ROOM_BYTES_MIN), { mode: 0o600, flush: true });
  } finally {
    rmSync(file, { force: true });
  }
}

/**
 * Locks the data folder for this process. The lock is SQLite's own lock on a small file: the operating system releases it when the process ends,
 * however it ends, so a kill never leaves a stale lock.
 */
export function lockDataFolder(folder: string): { release(): void } {
  const file = join(folder, 'lock');
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    chmodSync(file, 0o600);
    lock.exec('pragma locking_mode = exclusive; begin exclusive;');
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode !== 5) throw error;
    throw new StartError(
      `Another Coffer process uses the data folder ${folder}. Stop it first, or set CV_DATA_DIR to another folder.`,
    );
  }
  return { release: () => lock.close() };
}
