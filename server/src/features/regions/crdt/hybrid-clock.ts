import { MINUTE_MS } from '../../../kernel/base/clock.ts';

/**
 * A time of a hybrid logical clock. It follows the wall clock of its region, never goes back, and is later than what it replaces. The region decides
 * between two equal times.
 */
export interface Stamp {
  readonly ms: number;
  readonly counter: number;
  readonly region: string;
}

/** A stamp further ahead than this comes from a wrong clock: if it were accepted, nothing that others write would count until then. */
export const AHEAD_MAX_MS = MINUTE_MS;

/** Numbers follow the time, so that a region whose database was restored does not repeat those of operations that it lost. */
export const SEQS_PER_MS = 1000;

/** The highest number that an origin can have given out. With a higher one, nothing that it writes until then would be pulled. */
export function seqMax(now: number): number {
  return (now + AHEAD_MAX_MS) * SEQS_PER_MS;
}

export const COUNTER_MAX = 1_000_000;

export function compareStamps(a: Stamp, b: Stamp): number {
  return a.ms - b.ms || a.counter - b.counter || compareText(a.region, b.region);
}

/** By code unit, so that every node orders names in the same way, whatever its locale is. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The stamp of the next operation after the latest one. */
export function nextStamp(latest: Pick<Stamp, 'ms' | 'counter'>, now: number, region: string): Stamp {
  if (now > latest.ms) return { ms: now, counter: 0, region };
  const isFull = latest.counter >= COUNTER_MAX;
  return { ms: latest.ms + (isFull ? 1 : 0), counter: isFull ? 0 : latest.counter + 1, region };
}

export function isTooFarAhead({ ms }: Pick<Stamp, 'ms'>, now: number): boolean {
  return ms > now + AHEAD_MAX_MS;
}

/**
 * The stamp of a write to a cell that is there already: its own, unless the cell has a later one. Stamps of others move no clock of this region:
 * otherwise one clock that is a minute ahead would be passed on by all regions, and leave them no tolerance for their own differences.
 */
export function stampAfter<S extends Pick<Stamp, 'ms' | 'counter'>>(
  own: Stamp,
  held: S,
  now: number,
): Pick<Stamp, 'ms' | 'counter'> {
  const isLater = held.ms > own.ms || (held.ms === own.ms && held.counter >= own.counter);
  return isLater ? nextStamp(held, now, own.region) : own;
}
