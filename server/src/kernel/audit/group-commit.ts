import { unavailable } from '../errors.ts';

/** Turns of the event loop, each far below a millisecond under load. */
const GATHERING_TURNS_MAX = 4;

interface Waiting<T> {
  item: T;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Writes what came in together as one batch: items that arrive while a batch is being written form the next one. Each caller's
 * promise resolves when its item is durable and rejects if its batch was not written.
 */
export class GroupCommit<T> {
  readonly #write: (items: T[]) => Promise<void>;
  readonly #batchMax: number;
  readonly #waitingMax: number;
  #waiting: Waiting<T>[] = [];
  #writing = false;
  #idle: (() => void)[] = [];

  constructor(write: (items: T[]) => Promise<void>, limits: { batchMax: number; waitingMax: number }) {
    this.#write = write;
    this.#batchMax = limits.batchMax;
    this.#waitingMax = limits.waitingMax;
  }

  add(item: T): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax) {
      return Promise.reject(unavailable('The audit log is behind: try again shortly.'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#writing) {
        this.#writing = true;
        setImmediate(() => this.#gather(1));
      }
    });
  }

  /** A commit costs the same for one item as for many: while others keep arriving, they are let in first. */
  #gather(seen: number, turns = 1): void {
    const count = this.#waiting.length;
    if (count > seen && count < this.#batchMax && turns < GATHERING_TURNS_MAX) {
      setImmediate(() => this.#gather(count, turns + 1));
    } else this.#run();
  }

  async #run(): Promise<void> {
    if (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#batchMax);
      try {
        await this.#write(batch.map((w) => w.item));
        for (const w of batch) w.resolve();
      } catch (error) {
        for (const w of batch) w.reject(error);
      }
    }
    if (this.#waiting.length > 0) {
      setImmediate(() => this.#gather(0));
      return;
    }
    this.#writing = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Resolves when nothing waits any more. */
  drained(): Promise<void> {
    return this.#writing ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve();
  }
}
