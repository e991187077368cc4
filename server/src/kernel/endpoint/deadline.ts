import { SECOND_MS } from '../base/clock.ts';
import { type CofferError, unavailable } from '../base/errors.ts';

/**
 * The time that a request may take, without the arrival of its body. When it is over the caller gets an error at once, and a change that is not
 * being committed yet never will be. One that is being committed is waited for, because only its outcome can be told.
 */
export class Deadline {
  readonly #allowedMs: number;
  #leftMs: number;
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  #isCommitting = false;
  #onOver: () => void = () => {};

  constructor(allowedMs: number) {
    this.#allowedMs = allowedMs;
    this.#leftMs = allowedMs;
  }

  /** Begins the work, and resolves like it, or with `late` if the time is over first. */
  answer<T>(work: () => Promise<T>, late: (error: CofferError) => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#onOver = () => {
      if (!this.#isCommitting) resolve(late(this.#error()));
    };
    this.resume();
    work()
      .then(resolve, reject)
      .finally(() => clearTimeout(this.#timer));
    return promise;
  }

  /** The time of the caller does not count: how long a body takes has limits of its own. */
  pause(): void {
    clearTimeout(this.#timer);
    this.#leftMs -= performance.now() - this.#startedAt;
  }

  resume(): void {
    this.#startedAt = performance.now();
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      this.#onOver();
    }, this.#leftMs);
    this.#timer.unref();
  }

  /** Called whenever a transaction begins: it may be repeated after a conflict. */
  beforeTransaction(): void {
    this.#isCommitting = false;
    if (this.#isOver) throw this.#error();
  }

  /** Called as the last step of a transaction. */
  beforeCommit(): void {
    if (this.#isOver) throw this.#error();
    this.#isCommitting = true;
  }

  #error(): CofferError {
    const seconds = this.#allowedMs / SECOND_MS;
    return unavailable(
      `The request took longer than ${seconds} s and was stopped. Nothing was changed: try again shortly.`,
    );
  }
}
