import { PASSWORD_SLOTS } from '../kernel/crypto/passwords.ts';
import type { Config } from './config.ts';
import { connectionsWithin, descriptorLimit } from './descriptors.ts';
import { BODY_MEMORY_MIB_MIN } from './settings.ts';

/** Open connections on each listener, over all workers. */
export const CONNECTIONS_MAX = 20_000;

/** How much of what limits the whole command one worker may use. */
export interface WorkerShares {
  /** Open connections of clients on all listeners together. Descriptors are needed for other things too. */
  descriptorsForClients: number;
  /** Open connections on each listener. */
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
export function workerShares(config: Config, descriptors: number = descriptorLimit()): WorkerShares {
  const { workers, connectionsPerAddress, bodyMemoryMib } = config;
  const descriptorsForClients = connectionsWithin(descriptors, config);
  const part = (whole: number) => Math.ceil(whole / workers);
  return {
    descriptorsForClients,
    connectionsMax: Math.min(part(CONNECTIONS_MAX), descriptorsForClients),
    connectionsPerAddress: part(connectionsPerAddress),
    bodyMemoryMib: Math.max(BODY_MEMORY_MIB_MIN, part(bodyMemoryMib)),
    passwordSlots: part(PASSWORD_SLOTS),
  };
}
