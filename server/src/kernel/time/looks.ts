import type { Cutoff } from './cutoff.ts';

/** A reading of the clock, with the time elapsed in this process until then. */
export interface Look {
  time: number;
  elapsed: number;
}

/** More than are made in twice the longest wait. A process that looks more often keeps the earliest ones. */
const LOOKS_MAX = 1000;

/**
 * The clock readings of about the last hour. Data is deleted only if it had also expired at a look that is long enough ago in elapsed time, so a
 * clock that is wrong for a moment, at either end of the wait, deletes nothing.
 */
export class Looks {
  readonly #keptMs: number;
  #looks: Look[] = [];

  /** `keptMs` is the longest wait that callers use. */
  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  /** How far the clock was set since the oldest look: forwards if positive, backwards if negative. */
  jumpTo({ time, elapsed }: Look): number {
    const first = this.#looks[0];
    return first === undefined ? 0 : time - first.time - (elapsed - first.elapsed);
  }

  add(look: Look): void {
    const firstNeeded = this.#looks.findLastIndex((one) => one.elapsed <= look.elapsed - this.#keptMs);
    if (firstNeeded > 0) this.#looks.splice(0, firstNeeded);
    if (this.#looks.length < LOOKS_MAX) this.#looks.push(look);
  }

  clear(): void {
    this.#looks = [];
  }

  /** Whether a look is long enough ago. */
  hasOne(elapsed: number, waitMs: number): boolean {
    if (waitMs > this.#keptMs) throw new Error('no look is kept for that long');
    return waitMs === 0 || this.#lastBefore(elapsed - waitMs) !== undefined;
  }

  /** The time up to which data had expired at both looks; null if no look is long enough ago. */
  cutoff(now: Look, waitMs: number): Cutoff | null {
    const earlier = waitMs === 0 ? now : this.#lastBefore(now.elapsed - waitMs);
    return earlier === undefined ? null : (Math.floor(Math.min(earlier.time, now.time)) as Cutoff);
  }

  #lastBefore(elapsed: number): Look | undefined {
    return this.#looks.findLast((one) => one.elapsed <= elapsed);
  }
}
