import { extname } from 'node:path';
import { deserialize } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { unavailable } from '../base/errors.ts';
import { nextIteration, TimeSlice } from '../fairness/time-slice.ts';
import { JsonError, MAX_JSON_MEMBERS, parseJson } from '../wire/json.ts';

/** Up to this size a body is parsed on the main thread, which takes a few milliseconds at most, about as long as the transfer to the worker. */
export const PARSED_IN_PLACE_BYTES_MAX = 64 * 1024;
/** Enough for the largest body and its parsed value. If a thread needs more, it ends, and the process continues. */
const THREAD_HEAP_MIB_MAX = 256;
/** It is TypeScript in a checkout and JavaScript in an installed package, like this file. */
const WORKER_FILE = `./json-thread-worker${extname(import.meta.url)}`;

/** The thread's responses, in the order of the messages. */
export type ThreadAnswer = { value: unknown; parts: readonly ListPart[] } | { problem: string };

/** Elements of a list at the top of a body, serialized: deserializing all of a large body in one message would take too long a turn. */
export interface ListPart {
  list: string;
  elements: Uint8Array<ArrayBuffer>;
}

/** What the thread has to parse. */
export interface ThreadQuestion {
  bytes: Uint8Array<ArrayBuffer>;
  membersMax: number;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * Parses large JSON in a worker thread: 12 MiB take up to 400 ms, during which no other request would be answered. The bytes are transferred
 * without a copy, so the caller must not use them afterwards. The thread starts with the first large body.
 */
export class JsonThread {
  #worker: Worker | null = null;
  #waiting: Waiting[] = [];

  /** Synchronous if the body is small. Throws a `JsonError`, or rejects with one, if the body is not acceptable. */
  parse(bytes: Buffer<ArrayBuffer>, membersMax: number = MAX_JSON_MEMBERS): unknown {
    if (bytes.length <= PARSED_IN_PLACE_BYTES_MAX) return parseJson(bytes, membersMax);
    const worker = this.#started();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      worker.postMessage({ bytes, membersMax } satisfies ThreadQuestion, [bytes.buffer]);
    });
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #started(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(new URL(WORKER_FILE, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MIB_MAX },
      // It needs no environment variables, which may contain secrets.
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
    else waiting?.resolve(answer.parts.length === 0 ? answer.value : assembled(answer.value, answer.parts));
  }

  /** Whatever ended the thread, the next large body starts a new one. */
  #ended(cause: unknown): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#worker = null;
    for (const { reject } of waiting) reject(unavailable('The body could not be parsed now: send it again.', cause));
  }
}

async function assembled(value: unknown, parts: readonly ListPart[]): Promise<unknown> {
  const slice = new TimeSlice(nextIteration);
  for (const { list, elements } of parts) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    (Reflect.get(value as object, list) as unknown[]).push(...(deserialize(elements) as unknown[]));
  }
  return value;
}
