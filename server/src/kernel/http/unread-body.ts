import type { IncomingMessage, ServerResponse } from 'node:http';
import { SECOND_MS } from '../base/clock.ts';

/** A remainder of at most this size is not worth a new connection: Node discards it within the request timeout. */
const DISCARDED_BYTES_MAX = 64 * 1024;
/** More than the largest body that any endpoint accepts, so that a client that sends one can still read why it was refused. */
export const DRAINED_BYTES_MAX = 16 * 1024 * 1024;
const DRAINED_MS_MAX = 5 * SECOND_MS;
/** The minimum that a piece counts for, because each costs some microseconds, whatever its size. */
const PIECE_BYTES_MIN = 1024;

/** The announced length: 0 if there is no body, undefined if it is not known in advance. */
export function announcedLength({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length);
  return headers['transfer-encoding'] === undefined ? 0 : undefined;
}

/** Whether there is a body to read. A body of a GET or HEAD has no meaning (RFC 9110, 9.3.1) and is ignored. */
export function hasBody(request: IncomingMessage): boolean {
  return announcedLength(request) !== 0 && request.method !== 'GET' && request.method !== 'HEAD';
}

/** RFC 9110, 10.1.1: the client sends the body only after 100 Continue. Other expectations are refused before. */
export function awaitsContinue({ headers: { expect }, httpVersion }: IncomingMessage): boolean {
  return expect !== undefined && httpVersion === '1.1';
}

/** Whether the connection must be closed after a response that is sent now, because too much of the body is, or may be, still to come. */
export function hasRestOfBody(request: IncomingMessage): boolean {
  const length = announcedLength(request);
  if (length === 0 || request.complete) return false;
  return length === undefined || length > DISCARDED_BYTES_MAX || awaitsContinue(request);
}

/**
 * Ends a response although the request has not been read completely. Closing at once would reset the connection, and a client that is still sending
 * would see the reset instead of the response. So the rest is read and discarded, within limits.
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
