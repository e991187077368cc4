import { parentPort } from 'node:worker_threads';
import { JsonError, parseJson } from '../wire/json.ts';
import type { ThreadAnswer, ThreadQuestion } from './json-thread.ts';

/** The worker side of `JsonThread`. */
parentPort?.on('message', (question: ThreadQuestion) => parentPort?.postMessage(answerTo(question)));

function answerTo({ bytes, membersMax }: ThreadQuestion): ThreadAnswer {
  try {
    return { value: parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), membersMax) };
  } catch (error) {
    if (error instanceof JsonError) return { problem: error.message };
    throw error;
  }
}
