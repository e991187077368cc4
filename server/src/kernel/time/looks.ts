import type { Cutoff } from './cutoff.ts';

/** What the clock said, and how much time had really passed in this process by then. */
export interface Look {
  time: number;
  elapsed: number;
}

/** More than are made in twice the longest wait; a process that looks more often keeps the first ones. */
const LOOKS_MAX = 1000;

/**
 * What the clock said in the last hour or so. Something is removed only if it was over at a look of this process that is long enough ago by time
 * that really passed, so a clock that is wrong for a moment, at either end of the wait, removes nothing.
 */
export class Looks {
  readonly #keptMs: number;
  #looks: Look[] = [];

  /** `keptMs` is the longest wait that is asked for. */
  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  /** By how much the clock was set since the oldest look that is kept: forwards above zero, backwards below. */
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

  /** What is over at this time was over at both looks; null if none is long enough ago. */
  cutoff(now: Look, waitMs: number): Cutoff | null {
    const earlier = waitMs === 0 ? now : this.#lastBefore(now.elapsed - waitMs);
    return earlier === undefined ? null : (Math.floor(Math.min(earlier.time, now.time)) as Cutoff);
  }

  #lastBefore(elapsed: number): Look | undefined {
    return this.#looks.findLast((one) => one.elapsed <= elapsed);
  }
}
