import { MINUTE_MS } from '../base/clock.ts';

/** How many lines of one kind are written in an interval. The next ones are counted. */
export const LINES_PER_INTERVAL = 5;
export const INTERVAL_MS = MINUTE_MS;
/** A kind that no longer fits is not limited: nothing is hidden because memory is bounded. */
export const KINDS_MAX = 200;
const KIND_CHARACTERS_MAX = 1000;

interface Kind {
  written: number;
  leftOut: number;
  /** Writes a line that says how many were left out. */
  report(leftOut: number): void;
}

/**
 * Counts lines that repeat themselves, such as one for each request during an outage of the database, which would fill a disk. The first ones of each
 * interval are written, and one more says how many were not.
 */
export class RepeatedLines {
  readonly #kinds = new Map<string, Kind>();
  readonly #now: () => number;
  #since = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether a line of this kind is to be written. `report` is called later if some were not. */
  mayWrite(name: string, report: (leftOut: number) => void): boolean {
    if (this.#now() - this.#since >= INTERVAL_MS) {
      this.flush();
      this.#since = this.#now();
    }
    const kind = this.#kinds.get(name);
    if (kind === undefined) {
      const isBounded = this.#kinds.size < KINDS_MAX && name.length <= KIND_CHARACTERS_MAX;
      if (isBounded) this.#kinds.set(name, { written: 1, leftOut: 0, report });
      return true;
    }
    if (kind.written < LINES_PER_INTERVAL) {
      kind.written++;
      return true;
    }
    kind.leftOut++;
    this.#reportInTime();
    return false;
  }

  /** Reports what was left out, and begins to count anew. */
  readonly flush = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    process.off('exit', this.flush);
    const kinds = [...this.#kinds.values()];
    this.#kinds.clear();
    for (const { leftOut, report } of kinds) if (leftOut > 0) report(leftOut);
  };

  /** Also where no further line comes, and where the process ends first. */
  #reportInTime(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(this.flush, this.#since + INTERVAL_MS - this.#now()).unref();
    process.once('exit', this.flush);
  }
}
