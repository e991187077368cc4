import { MINUTE_MS } from '../../../kernel/platform/clock.ts';

/**
 * A time of a hybrid logical clock. It follows the wall clock of its region, never repeats, and is later than everything the region had seen. The
 * region makes it unique, and decides between two equal times.
 */
export interface Stamp {
  readonly ms: number;
  readonly counter: number;
  readonly region: string;
}

/** A stamp further ahead than this comes from a wrong clock: if it were accepted, nothing that others write would count until then. */
export const AHEAD_MAX_MS = MINUTE_MS;

export const COUNTER_MAX = 1_000_000;

export function compareStamps(a: Stamp, b: Stamp): number {
  return a.ms - b.ms || a.counter - b.counter || compareText(a.region, b.region);
}

/** By code unit, so that every node orders names in the same way, whatever its locale is. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The stamp of the next local operation, given the latest one that this region wrote or has seen. */
export function nextStamp(latest: Pick<Stamp, 'ms' | 'counter'>, now: number, region: string): Stamp {
  if (now > latest.ms) return { ms: now, counter: 0, region };
  const isFull = latest.counter >= COUNTER_MAX;
  return { ms: latest.ms + (isFull ? 1 : 0), counter: isFull ? 0 : latest.counter + 1, region };
}

export function isTooFarAhead({ ms }: Pick<Stamp, 'ms'>, now: number): boolean {
  return ms > now + AHEAD_MAX_MS;
}

/** The later of two stamps, as the latest that was seen. */
export function laterOf<S extends Pick<Stamp, 'ms' | 'counter'>>(a: S, b: S): S {
  return a.ms > b.ms || (a.ms === b.ms && a.counter >= b.counter) ? a : b;
}
