import { Worker } from 'node:worker_threads';
import { unavailable } from '../errors.ts';
import { JsonError, parseJson } from './json.ts';

/** Up to this size a body is parsed where it is: that takes a few milliseconds at most, about as long as handing it over. */
export const PARSED_IN_PLACE_BYTES_MAX = 64 * 1024;
/** Enough for the largest body and what it is parsed to. A thread that needs more ends, and the process goes on. */
const THREAD_HEAP_MIB_MAX = 256;

/** What the thread answers, in the order of what it was sent. */
export type ThreadAnswer = { value: unknown } | { problem: string };

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * Parses large JSON in a thread of its own: 12 MiB take up to 400 ms, in which no other request would be answered. The bytes are handed over
 * without a copy, so nobody may use them afterwards. The thread starts with the first large body.
 */
export class JsonThread {
  #worker: Worker | null = null;
  #waiting: Waiting[] = [];

  /** At once if the body is small; throws a `JsonError`, or rejects with one, if it is not acceptable. */
  parse(bytes: Buffer<ArrayBuffer>): unknown {
    if (bytes.length <= PARSED_IN_PLACE_BYTES_MAX) return parseJson(bytes);
    const worker = this.#started();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      worker.postMessage(bytes, [bytes.buffer]);
    });
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #started(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(new URL('./json-thread-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MIB_MAX },
      // It needs nothing of the environment, where secrets may be.
      env: {},
    });
    worker.on('message', (answer: ThreadAnswer) => this.#answer(answer));
    let cause: unknown;
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('exit', () => this.#ended(cause));
    worker.unref();
    this.#worker = worker;
    return worker;
  }

  #answer(answer: ThreadAnswer): void {
    const waiting = this.#waiting.shift();
    if ('problem' in answer) waiting?.reject(new JsonError(answer.problem));
    else waiting?.resolve(answer.value);
  }

  /** Whatever ended it, the next large body starts another. */
  #ended(cause: unknown): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#worker = null;
    for (const { reject } of waiting) reject(unavailable('The body could not be parsed now: send it again.', cause));
  }
}
