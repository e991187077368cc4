import { afterArrivals } from '../../base/batch-window.ts';
import { unavailable } from '../../base/errors.ts';

/** Items that are written together, with the promise that all of their callers wait for. */
interface Batch<T> {
  items: T[];
  written: PromiseWithResolvers<void>;
}

/**
 * Writes concurrent items as one batch: items that arrive while a batch is written form the next one. A caller's promise resolves when its item is
 * durable and rejects if its batch was not written.
 */
export class GroupCommit<T> {
  readonly #write: (items: T[]) => Promise<void>;
  readonly #batchMax: number;
  readonly #waitingMax: number;
  /** In order; new items go into the last one. */
  #batches: Batch<T>[] = [];
  #waiting = 0;
  #writing = false;
  #idle: (() => void)[] = [];

  constructor(write: (items: T[]) => Promise<void>, limits: { batchMax: number; waitingMax: number }) {
    this.#write = write;
    this.#batchMax = limits.batchMax;
    this.#waitingMax = limits.waitingMax;
  }

  get waiting(): number {
    return this.#waiting;
  }

  add(item: T): Promise<void> {
    if (this.#waiting >= this.#waitingMax) {
      return Promise.reject(unavailable('Too many entries wait to be written to the audit log: try again shortly.'));
    }
    this.#waiting++;
    let batch = this.#batches.at(-1);
    if (batch === undefined || batch.items.length >= this.#batchMax) {
      batch = { items: [], written: Promise.withResolvers() };
      this.#batches.push(batch);
    }
    batch.items.push(item);
    if (!this.#writing) {
      this.#writing = true;
      this.#writeSoon(1);
    }
    return batch.written.promise;
  }

  /** A full batch is written without further delay. */
  #writeSoon(seen: number): void {
    afterArrivals(
      () => (this.#waiting < this.#batchMax ? this.#waiting : 0),
      () => this.#run(),
      seen,
    );
  }

  async #run(): Promise<void> {
    const batch = this.#batches.shift();
    if (batch !== undefined) {
      this.#waiting -= batch.items.length;
      try {
        await this.#write(batch.items);
        batch.written.resolve();
      } catch (error) {
        batch.written.reject(error);
      }
    }
    if (this.#batches.length > 0) {
      this.#writeSoon(0);
      return;
    }
    this.#writing = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Resolves when no item waits any more. */
  drained(): Promise<void> {
    return this.#writing ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve();
  }
}
