import type { Cutoff } from './cutoff.ts';

/** A reading of the clock, with the time elapsed in this process until then. */
export interface ClockCheck {
  time: number;
  elapsed: number;
}

/** More than are made in twice the longest wait. A process that checks more often keeps the earliest ones. */
const CHECKS_MAX = 1000;

/**
 * The clock readings of about the last hour. Data is deleted only if it had also expired at a check that is long enough ago in elapsed time, so a
 * clock that is wrong for a moment, at either end of the wait, deletes nothing.
 */
export class ClockChecks {
  readonly #storedMs: number;
  #checks: ClockCheck[] = [];

  /** `retentionMs` is the longest wait that callers use. */
  constructor(storedMs: number) {
    this.#storedMs = storedMs;
  }

  /** How far the clock was set since the oldest check: forwards if positive, backwards if negative. */
  jumpTo({ time, elapsed }: ClockCheck): number {
    const first = this.#checks[0];
    return first === undefined ? 0 : time - first.time - (elapsed - first.elapsed);
  }

  add(check: ClockCheck): void {
    const firstNeeded = this.#checks.findLastIndex((one) => one.elapsed <= check.elapsed - this.#storedMs);
    if (firstNeeded > 0) this.#checks.splice(0, firstNeeded);
    if (this.#checks.length < CHECKS_MAX) this.#checks.push(check);
  }

  clear(): void {
    this.#checks = [];
  }

  /** Whether a check is long enough ago. */
  hasOne(elapsed: number, waitMs: number): boolean {
    if (waitMs > this.#storedMs) throw new Error('no look is kept for that long');
    return waitMs === 0 || this.#lastBefore(elapsed - waitMs) !== undefined;
  }

  /** The time up to which data had expired at both checks; null if no check is long enough ago. */
  cutoff(now: ClockCheck, waitMs: number): Cutoff | null {
    const earlier = waitMs === 0 ? now : this.#lastBefore(now.elapsed - waitMs);
    return earlier === undefined ? null : (Math.floor(Math.min(earlier.time, now.time)) as Cutoff);
  }

  #lastBefore(elapsed: number): ClockCheck | undefined {
    return this.#checks.findLast((one) => one.elapsed <= elapsed);
  }
}
