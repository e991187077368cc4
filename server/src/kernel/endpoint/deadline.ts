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
  /** Null once the work has ended. Otherwise the request and its response stay in memory until the next full collection of garbage. */
  #waiting: { resolve: (answer: unknown) => void; late: (error: CofferError) => unknown } | null = null;

  constructor(allowedMs: number) {
    this.#allowedMs = allowedMs;
    this.#leftMs = allowedMs;
  }

  /** Begins the work, and resolves like it, or with `late` if the time is over first. */
  answer<T>(work: () => Promise<T>, late: (error: CofferError) => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting = { resolve: resolve as (answer: unknown) => void, late };
    this.resume();
    work().then(
      (answer) => {
        this.#end();
        resolve(answer);
      },
      (error: unknown) => {
        this.#end();
        reject(error);
      },
    );
    return promise;
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#waiting = null;
  }

  #onOver(): void {
    this.#isOver = true;
    if (!this.#isCommitting) this.#waiting?.resolve(this.#waiting.late(this.#error()));
  }

  /** The time of the caller does not count: how long a body takes has limits of its own. */
  pause(): void {
    clearTimeout(this.#timer);
    this.#leftMs -= performance.now() - this.#startedAt;
  }

  resume(): void {
    this.#startedAt = performance.now();
    this.#timer = setTimeout(() => this.#onOver(), this.#leftMs);
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
