import { MINUTE_MS, SECOND_MS } from '../kernel/base/clock.ts';
import type { Config } from '../settings/config.ts';

/** How long requests in flight may take once no more are accepted: longer than a request, shorter than service managers wait before they kill. */
export const CLOSE_MS = 25 * SECOND_MS;
/** A worker ends itself after `CLOSE_MS`, unless its event loop is blocked. Then the supervisor kills it. */
export const KILL_AFTER_MS = CLOSE_MS + SECOND_MS;

/** How long requests are still accepted after a signal. Somebody who presses Ctrl-C has no load balancer to wait for. */
export function drainMsAfter(signal: NodeJS.Signals, { drainMs }: Pick<Config, 'drainMs'>): number {
  return signal === 'SIGINT' ? 0 : drainMs;
}

const RESTART_BASE_MS = SECOND_MS / 2;
const RESTART_MS_MAX = 30 * SECOND_MS;
/** A worker that ran this long ran well, and its earlier failures no longer count. */
export const RAN_WELL_MS = MINUTE_MS;

/**
 * How long to wait before a worker is replaced that failed `failures` times in a row: twice as long each time, up to a limit. Between half and all of
 * that, so that workers which failed together do not start together. `random` is from 0 to 1.
 */
export function restartDelayMs(failures: number, random: number): number {
  const longest = Math.min(RESTART_MS_MAX, RESTART_BASE_MS * 2 ** (failures - 1));
  return Math.round(longest * (0.5 + random / 2));
}

/** How long the supervisor waits for the metrics of its workers. One that is busy for longer is left out. */
export const METRICS_WAIT_MS = 4 * SECOND_MS;
/** How long a worker waits for the supervisor to return the metrics of all: less than the ten seconds that Prometheus waits by default. */
export const SUPERVISOR_WAIT_MS = 2 * METRICS_WAIT_MS;
