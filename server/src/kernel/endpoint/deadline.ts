import { SECOND_MS } from '../base/clock.ts';
import { type CofferError, unavailable } from '../base/errors.ts';

/** How often the deadlines are checked. A caller who waits for so long does not notice. */
const LOOK_MS = 100;
/** Those whose work has not ended. One timer checks all of them, because a timer for each takes longer than all else here. */
const running = new Set<Deadline>();
/** Null while there is nothing to look at. */
let timer: NodeJS.Timeout | null = null;

function look(): void {
  if (running.size === 0 && timer !== null) {
    clearInterval(timer);
    timer = null;
  }
  for (const deadline of running) deadline.endIfOver();
}

/**
 * The time that a request may take, without the arrival of its body. When it is over the caller gets an error at once, and a change that is not
 * being committed yet never will be. One that is being committed is waited for, because only its outcome can be told.
 */
export class Deadline {
  readonly #allowedMs: number;
  readonly #now: () => number;
  #dueAt: number;
  /** Since when the time does not run; null while it runs. */
  #pausedAt: number | null = null;
  #isCommitting = false;
  /** Null once the work has ended. Otherwise the request and its response stay in memory until the next full collection of garbage. */
  #waiting: { resolve: (answer: unknown) => void; late: (error: CofferError) => unknown } | null = null;

  constructor(allowedMs: number, now: () => number = () => performance.now()) {
    this.#allowedMs = allowedMs;
    this.#now = now;
    this.#dueAt = now() + allowedMs;
  }

  /** Begins the work, and resolves like it, or with `late` if the time is over first. */
  answer<T>(work: () => Promise<T>, late: (error: CofferError) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve: resolve as (answer: unknown) => void, late };
      running.add(this);
      timer ??= setInterval(look, LOOK_MS).unref();
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
    });
  }

  #end(): void {
    running.delete(this);
    this.#waiting = null;
  }

  get #isOver(): boolean {
    return this.#pausedAt === null && this.#now() >= this.#dueAt;
  }

  endIfOver(): void {
    if (!this.#isOver) return;
    running.delete(this);
    if (!this.#isCommitting) this.#waiting?.resolve(this.#waiting.late(this.#error()));
  }

  /** The time of the caller does not count: how long a body takes has limits of its own. */
  pause(): void {
    this.#pausedAt = this.#now();
  }

  resume(): void {
    if (this.#pausedAt !== null) this.#dueAt += this.#now() - this.#pausedAt;
    this.#pausedAt = null;
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
