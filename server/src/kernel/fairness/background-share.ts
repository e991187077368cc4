import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { RoundRobin } from './round-robin.ts';

/** While requests fill the event loop, background work waits for this many times as long as its last piece took: it gets a twentieth. */
const WAIT_FACTOR = 19;
const WAIT_MAX_MS = 500;
/** The loop has time to spare if it was idle for half of this window. */
const WINDOW_MS = 5;
const BUSY = 0.5;

const waiting = new RoundRobin<() => Promise<void>>();
let isRunning = false;

/**
 * Runs a piece of background work that computes much, such as encoding a batch. All pieces of a process run one after another and use what requests
 * leave of the event loop, so that they do not slow requests down. Tenants take turns. A piece must not wait for anything but the database.
 */
export function inBackground<T>(tenantId: string, piece: () => Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  waiting.push(tenantId, () => piece().then(resolve, reject));
  if (!isRunning) void runAll();
  return promise;
}

async function runAll(): Promise<void> {
  isRunning = true;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const startedAt = performance.now();
    await next();
    await spareTime((performance.now() - startedAt) * WAIT_FACTOR);
  }
  isRunning = false;
}

/** Resolves as soon as the loop was idle for a while, or after `waitMs`. */
async function spareTime(waitMs: number): Promise<void> {
  const until = performance.now() + Math.min(waitMs, WAIT_MAX_MS);
  do {
    const before = performance.eventLoopUtilization();
    await sleep(WINDOW_MS);
    if (performance.eventLoopUtilization(before).utilization < BUSY) return;
  } while (performance.now() < until);
}
