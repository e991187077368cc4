import { parentPort } from 'node:worker_threads';
import { JsonError, parseJson } from './json.ts';
import type { ThreadAnswer } from './json-thread.ts';

/** The worker side of `JsonThread`. */
parentPort?.on('message', (bytes: Uint8Array<ArrayBuffer>) => parentPort?.postMessage(answerTo(bytes)));

function answerTo(bytes: Uint8Array<ArrayBuffer>): ThreadAnswer {
  try {
    return { value: parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)) };
  } catch (error) {
    if (error instanceof JsonError) return { problem: error.message };
    throw error;
  }
}
