import type { ServerResponse } from 'node:http';
import { MINUTE_MS, SECOND_MS } from '../clock.ts';

/** Written at once: more is written only when the reader has taken this. */
const CHUNK_BYTES = 64 * 1024;
/** A reader that takes no chunk in this time has left, or wants to hold what we hold for it. */
const STALL_MS = 20 * SECOND_MS;
/** Of an answer, from its first byte to its last. */
const WRITING_MS = 15 * MINUTE_MS;
/** A smaller answer fits in what the system buffers: it is written and done with. */
export const SMALL_BYTES = 128 * 1024;

/** Whoever should have read the answer did not, or not fast enough. */
export class SlowReader extends Error {
  override readonly name = 'SlowReader';
}

/**
 * Writes an answer at the pace of its reader, and holds no more of it than one piece. What fails half-way is cut off, so that nobody takes a part for
 * the whole; a reader that stalls is cut off too.
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
        if (performance.now() > deadline) throw new SlowReader('the answer took too long to be read');
        if (!response.write(chunk)) await taken(response, 'drain');
      }
    }
    response.end();
    if (!response.writableFinished) await taken(response, 'finish');
  } catch (error) {
    response.destroy();
    throw error;
  }
}

function* chunksOf(piece: string | Uint8Array): Iterable<string | Uint8Array> {
  // No character takes more than three bytes.
  if (piece.length * 3 <= CHUNK_BYTES) {
    yield piece;
    return;
  }
  const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

/** Resolves when there is room for more, when all is written, or when there is nobody to write to. */
async function taken(response: ServerResponse, event: 'drain' | 'finish'): Promise<void> {
  // It is told of its end only once.
  if (response.destroyed) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new SlowReader('the answer was not read')), STALL_MS);
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
