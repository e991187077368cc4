import { openSync, readSync } from 'node:fs';
import { uptime } from 'node:os';
import { SECOND_MS } from '../base/clock.ts';

const LINUX_FILE = '/proc/uptime';
/** Two numbers of seconds with two decimals. */
const LENGTH_MAX = 64;

/**
 * Reads how long ago the machine started, in milliseconds, time in which it was suspended included: `performance.now()` stands still then. On
 * Linux an open file is read, which takes 4 µs. Without that file `os.uptime()` is used, which reads CLOCK_BOOTTIME or its equal in whole seconds.
 * The result is NaN if neither works, and NaN is in no comparison, so nothing that needs it is allowed.
 */
export function uptimeReader(file = LINUX_FILE): () => number {
  const descriptor = openedOrNull(file);
  const read = Buffer.alloc(LENGTH_MAX);
  return () => {
    try {
      if (descriptor === null) return uptime() * SECOND_MS;
      const length = readSync(descriptor, read, 0, LENGTH_MAX, 0);
      return Number.parseFloat(read.toString('latin1', 0, length)) * SECOND_MS;
    } catch {
      // Callers that measure with it count the time as over.
      return Number.NaN;
    }
  };
}

function openedOrNull(file: string): number | null {
  try {
    return openSync(file, 'r');
  } catch {
    // Only Linux has it, and a container may hide it.
    return null;
  }
}
