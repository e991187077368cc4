import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { CommandError } from './failure.ts';

/**
 * The text of a file that a project brought with it, or null if there is none. What is no regular file counts as none: a pipe or a device would never
 * end.
 */
export function readBoundedFile(
  file: string,
  bytesMax: number,
  check: (found: Stats) => void = () => {},
): string | null {
  const descriptor = openIfThere(file);
  if (descriptor === null) return null;
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) return null;
    check(found);
    const bytes = Buffer.alloc(bytesMax + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
    if (length > bytesMax)
      throw new CommandError(`${file} is larger than ${Math.round(bytesMax / 1024)} KiB. Shorten it.`);
    return bytes.toString('utf8', 0, length);
  } finally {
    closeSync(descriptor);
  }
}

/** Without waiting for the other end of a pipe. */
function openIfThere(file: string): number | null {
  try {
    return openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0));
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ENXIO', 'EISDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return null;
    throw error;
  }
}
