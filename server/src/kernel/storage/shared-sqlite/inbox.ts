import { SECOND_MS } from '../../base/clock.ts';
import { unavailable } from '../../base/errors.ts';
import type { ToWriter } from './messages.ts';

export type Inside = Extract<ToWriter, { type: 'execute' | 'call-inside' | 'commit' | 'rollback' }>;

/**
 * A transaction holds up all others until it ends. If its process sends nothing for this long, because it was stopped or hangs, the transaction is
 * rolled back.
 */
const SILENT_MS_MAX = 5 * SECOND_MS;

/** What another process sends for one transaction, in order. */
export class Inbox {
  readonly #silentMsMax: number;
  readonly #messages: Inside[] = [];
  #waiting: PromiseWithResolvers<Inside> | null = null;
  #isClosed = false;

  constructor(silentMsMax: number = SILENT_MS_MAX) {
    this.#silentMsMax = silentMsMax;
  }

  put(message: Inside): void {
    if (this.#waiting === null) this.#messages.push(message);
    else this.#waiting.resolve(message);
    this.#waiting = null;
  }

  /** Rejects if nothing comes in time, or if the process is gone. */
  async next(): Promise<Inside> {
    const message = this.#messages.shift();
    if (message !== undefined) return message;
    if (this.#isClosed) throw gone();
    const waiting = Promise.withResolvers<Inside>();
    this.#waiting = waiting;
    const timer = setTimeout(() => waiting.reject(silent()), this.#silentMsMax);
    try {
      return await waiting.promise;
    } finally {
      clearTimeout(timer);
      this.#waiting = null;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting?.reject(gone());
  }
}

function gone(): Error {
  return unavailable('The process that began the transaction is gone.');
}

function silent(): Error {
  return unavailable('The transaction was rolled back because its process did not go on with it: try again shortly.');
}
