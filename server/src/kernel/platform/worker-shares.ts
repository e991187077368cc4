import type { Config } from './config.ts';
import { BODY_MEMORY_MIB_MIN } from './settings.ts';

/** Open connections on each listener, over all workers. */
export const CONNECTIONS_MAX = 20_000;
/** Each running hash of a password holds 64 MiB. */
export const PASSWORD_SLOTS = 2;

/** How much of what limits the whole command one worker may use. */
export interface WorkerShares {
  connectionsMax: number;
  connectionsPerAddress: number;
  bodyMemoryMib: number;
  passwordSlots: number;
}

/**
 * Limits of memory and connections are divided, so that a setting means the whole command. The supervisor deals connections out in turn, so equal
 * parts are right. Each part is rounded up and no smaller than a process needs to work at all. Rate limits are shared through the database, and
 * everything else holds for each process, as it does for each node: database connections, slots for bulk requests, outgoing calls, and caches.
 */
export function workerShares({ workers, connectionsPerAddress, bodyMemoryMib }: Config): WorkerShares {
  const part = (whole: number) => Math.ceil(whole / workers);
  return {
    connectionsMax: part(CONNECTIONS_MAX),
    connectionsPerAddress: part(connectionsPerAddress),
    bodyMemoryMib: Math.max(BODY_MEMORY_MIB_MIN, part(bodyMemoryMib)),
    passwordSlots: part(PASSWORD_SLOTS),
  };
}
