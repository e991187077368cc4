import type { ServerResponse } from 'node:http';
import { MINUTE_MS, SECOND_MS } from '../base/clock.ts';

/** Written at once. More is written only when the client has read this much. */
const CHUNK_BYTES = 64 * 1024;
/** A client that reads no chunk in this time has left, or wants to make us hold resources. */
const STALL_MS = 20 * SECOND_MS;
/** The time limit for a whole response, from its first byte to its last. */
const WRITING_MS = 15 * MINUTE_MS;
/** A smaller response fits into the system's buffers, so it is written at once. */
export const SMALL_BYTES = 128 * 1024;

/** The client did not read the response, or not fast enough. */
export class SlowReader extends Error {
  override readonly name = 'SlowReader';
}

/**
 * Writes a response at the pace of its client and holds no more than one piece in memory. A response that fails halfway is cut off, so that nobody
 * takes a part for the whole. A client that stalls is cut off too.
 */
export async function writeAnswer(
  response: ServerResponse,
  pieces: AsyncIterable<string> | Iterable<string | Uint8Array>,
): Promise<void> {
  const deadline = performance.now() + WRITING_MS;
  try {
    for await (const piece of pieces) {
      for (const chunk of chunksOf(piece)) {
        if (response.destroyed) return;
        if (performance.now() > deadline) throw new SlowReader('the client took too long to read the response');
        if (!response.write(chunk)) await eventOrClose(response, 'drain');
      }
    }
    response.end();
    if (!response.writableFinished) await eventOrClose(response, 'finish');
  } catch (error) {
    response.destroy();
    throw error;
  }
}

function* chunksOf(piece: string | Uint8Array): Iterable<string | Uint8Array> {
  // No UTF-16 code unit takes more than three bytes in UTF-8.
  if (piece.length * 3 <= CHUNK_BYTES) {
    yield piece;
    return;
  }
  const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

/** Resolves when there is room for more, when everything is written, or when the client has left. */
async function eventOrClose(response: ServerResponse, event: 'drain' | 'finish'): Promise<void> {
  // The `close` event is emitted only once, and may already be over.
  if (response.destroyed) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new SlowReader('the client did not read the response')), STALL_MS);
  response.once(event, resolve);
  response.once('close', resolve);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    response.off(event, resolve);
    response.off('close', resolve);
  }
}
