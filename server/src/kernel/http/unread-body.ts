import type { IncomingMessage, ServerResponse } from 'node:http';
import { SECOND_MS } from '../clock.ts';

/** A rest of at most so many bytes is not worth a new connection: Node discards it, within the time a request may take. */
const DISCARDED_BYTES_MAX = 64 * 1024;
/** More than the largest body that any endpoint accepts, so that whoever sends one reads why it was refused. */
export const DRAINED_BYTES_MAX = 16 * 1024 * 1024;
const DRAINED_MS_MAX = 5 * SECOND_MS;
/** What a piece counts for at least: each costs some microseconds, whatever its size. */
const PIECE_BYTES_MIN = 1024;

/** The length that was announced: 0 if there is no body, undefined if it is not known beforehand. */
export function announcedLength({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length);
  return headers['transfer-encoding'] === undefined ? 0 : undefined;
}

/** Whether there is a body to read. That of a GET or HEAD means nothing (RFC 9110, 9.3.1), and is not looked at. */
export function hasBody(request: IncomingMessage): boolean {
  return announcedLength(request) !== 0 && request.method !== 'GET' && request.method !== 'HEAD';
}

/** RFC 9110, 10.1.1: the body comes only once it is asked for. Other expectations are refused before. */
export function awaitsContinue({ headers: { expect }, httpVersion }: IncomingMessage): boolean {
  return expect !== undefined && httpVersion === '1.1';
}

/** Whether the connection cannot go on after an answer that is given now: too much of the body is, or may be, still to come. */
export function hasRestOfBody(request: IncomingMessage): boolean {
  const length = announcedLength(request);
  if (length === 0 || request.complete) return false;
  return length === undefined || length > DISCARDED_BYTES_MAX || awaitsContinue(request);
}

/**
 * Ends an answer that is written, though the request is not read to its end. To close at once would reset the connection, and a client that is
 * still sending would see that instead of the answer; so the rest is taken in and thrown away, within bounds.
 */
export function endAfterDraining(request: IncomingMessage, response: ServerResponse): void {
  let drained = 0;
  const end = () => {
    clearTimeout(timer);
    request.off('data', count).off('end', end).off('close', end);
    response.end();
  };
  const count = (piece: Buffer) => {
    drained += Math.max(piece.length, PIECE_BYTES_MIN);
    if (drained > DRAINED_BYTES_MAX) end();
  };
  const timer = setTimeout(end, DRAINED_MS_MAX);
  request.on('data', count).once('end', end).once('close', end);
  request.resume();
}
