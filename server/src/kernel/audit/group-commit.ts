import { unavailable } from '../errors.ts';

/** Turns of the event loop, each far below a millisecond under load. */
const GATHERING_TURNS_MAX = 4;

/** Items that are written together, and the one promise that all who gave them wait for. */
interface Batch<T> {
  items: T[];
  written: PromiseWithResolvers<void>;
}

/**
 * Writes what came in together as one batch, one batch at a time: items that arrive while one is being written form the next. The promise a
 * caller gets resolves when its item is durable and rejects if its batch was not written.
 */
export class GroupCommit<T> {
  readonly #write: (items: T[]) => Promise<void>;
  readonly #batchMax: number;
  readonly #waitingMax: number;
  /** In order; the last one takes what comes next. */
  #batches: Batch<T>[] = [];
  #waiting = 0;
  #enough = Number.POSITIVE_INFINITY;
  #isWriting = false;
  #isGathering = false;
  #idle: (() => void)[] = [];

  constructor(write: (items: T[]) => Promise<void>, limits: { batchMax: number; waitingMax: number }) {
    this.#write = write;
    this.#batchMax = limits.batchMax;
    this.#waitingMax = limits.waitingMax;
  }

  add(item: T): Promise<void> {
    if (this.#waiting >= this.#waitingMax) {
      return Promise.reject(unavailable('The audit log is behind: try again shortly.'));
    }
    let batch = this.#batches.at(-1);
    if (batch === undefined || batch.items.length >= this.#batchMax) {
      batch = { items: [], written: Promise.withResolvers() };
      this.#batches.push(batch);
    }
    batch.items.push(item);
    this.#waiting++;
    this.#writeOrGather();
    return batch.written.promise;
  }

  #writeOrGather(): void {
    if (this.#isWriting || this.#waiting === 0) return;
    if (this.#waiting >= this.#enough) this.#writeNext();
    else if (!this.#isGathering) {
      this.#isGathering = true;
      setImmediate(() => this.#gather(1, 1));
    }
  }

  /** A write costs little more for many items than for one: while others keep arriving, they are let in first. */
  #gather(seen: number, turns: number): void {
    const count = this.#waiting;
    if (!this.#isWriting && count > seen && turns < GATHERING_TURNS_MAX) {
      setImmediate(() => this.#gather(count, turns + 1));
      return;
    }
    this.#isGathering = false;
    if (!this.#isWriting && count > 0) this.#writeNext();
  }

  async #writeNext(): Promise<void> {
    const batch = this.#batches.shift() as Batch<T>;
    this.#isWriting = true;
    this.#waiting -= batch.items.length;
    try {
      await this.#write(batch.items);
      batch.written.resolve();
    } catch (error) {
      batch.written.reject(error);
    }
    // Callers who ask again as soon as they are answered fall into two halves: one is served while the other's batch is written.
    this.#enough = Math.ceil((batch.items.length + this.#waiting) / 2);
    this.#isWriting = false;
    this.#writeOrGather();
    if (!this.#isWriting && this.#waiting === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Resolves when nothing waits any more. */
  drained(): Promise<void> {
    const isIdle = !this.#isWriting && this.#waiting === 0;
    return isIdle ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }
}
