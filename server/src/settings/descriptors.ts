import { readFileSync } from 'node:fs';
import { StartError } from '../kernel/base/data-folder.ts';
import type { Config } from './config.ts';

/** Libraries, ports, the log, the files of the data folder, threads, and what is open only for a moment. */
const FILES_RESERVED = 64;
/** Calls to other services. */
const OUTGOING_RESERVED = 16;
/** With fewer connections a service is of no use. */
const CONNECTIONS_MIN = 16;

/** How many files and connections this process may have open at a time (`ulimit -n`); Infinity if there is no limit, or none is known. */
export function descriptorLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch (error) {
    // Systems other than Linux have no such file.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return limitOfReport();
  }
}

function limitOfReport(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY;
}

/**
 * How many connections of clients one process may have open, so that descriptors are left for the database, the log and files: without one the
 * database could not be reached.
 */
export function connectionsWithin(limit: number, { databaseUrl, databasePool }: Config): number {
  const reserved = FILES_RESERVED + OUTGOING_RESERVED + (databaseUrl === null ? 0 : databasePool);
  if (limit - reserved >= CONNECTIONS_MIN) return limit - reserved;
  throw new StartError(
    `A process may have ${limit} files open (ulimit -n), and at least ${reserved + CONNECTIONS_MIN} are needed: raise it, with LimitNOFILE in a systemd unit or ` +
      '--ulimit nofile for Docker.',
  );
}
