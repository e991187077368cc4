import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A new place for the socket of the worker that writes, in a folder that only this user can open. It is not in the data folder, because the path of
 * a socket may not be long. The folder is removed when this process ends.
 */
export function newWriterPath(): string {
  if (process.platform === 'win32') return `\\\\.\\pipe\\coffer-${randomUUID()}`;
  const folder = mkdtempSync(join(tmpdir(), 'coffer-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'writer');
}
