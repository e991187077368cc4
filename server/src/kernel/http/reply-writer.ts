import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { CofferError } from '../base/errors.ts';
import { JSON_CONTENT_TYPE } from '../base/headers.ts';
import { newId } from '../base/ids.ts';
import { errorReply, isStream, type Reply } from '../request/reply.ts';
import { SMALL_BYTES, writeAnswer } from './answer-writer.ts';
import type { RefusedEarly } from './router.ts';
import { endAfterDraining, hasRestOfBody } from './unread-body.ts';

export function writeReply(
  response: ServerResponse,
  { status, headers, cookies = [], body }: Reply,
  more: Record<string, string>,
  onFailure: (error: unknown) => void = () => {},
): void {
  const isCutShort = hasRestOfBody(response.req);
  if (isCutShort) headers['Connection'] = 'close';
  // Node writes a flat list without processing each name again.
  const flat: string[] = [];
  let isAscii = false;
  for (const name in headers) flat.push(name, headers[name] as string);
  for (const cookie of cookies) flat.push('Set-Cookie', cookie);
  for (const name in more) if (headers[name] === undefined) flat.push(name, more[name] as string);
  if (body !== null) {
    if (!('Content-Type' in headers)) flat.push('Content-Type', JSON_CONTENT_TYPE);
    if (!isStream(body)) {
      const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
      isAscii = typeof body === 'string' && bytes === body.length;
      flat.push('Content-Length', String(bytes));
    }
  }
  response.writeHead(status, flat);
  if (response.req.method === 'HEAD' && isStream(body)) {
    // The stream is closed without reading it: its rows would be loaded from the database for nobody.
    body[Symbol.asyncIterator]().return?.().catch(onFailure);
    response.end();
  } else if (isStream(body)) writeAnswer(response, body).catch(onFailure);
  else if (isCutShort) {
    if (body !== null) response.write(body);
    response.flushHeaders();
    endAfterDraining(response.req, response);
  } else if (body !== null && body.length > SMALL_BYTES) writeAnswer(response, [body]).catch(onFailure);
  else if (isAscii) response.end(body, 'latin1');
  else response.end(body ?? undefined);
}

/** Node's error for bytes that are not HTTP, with those bytes. */
export interface ParserError extends Error {
  code?: string;
  rawPacket?: Buffer;
}

/** Malformed HTTP has no request to respond to, only a socket. */
export function refuseConnection(
  error: ParserError,
  socket: Duplex,
  common: Readonly<Record<string, string>>,
  count: (reason: RefusedEarly) => void,
): void {
  // Before the TLS handshake is complete, a response could never be sent.
  const isShakingHands = (socket as Duplex & { secureConnecting?: boolean }).secureConnecting === true;
  if (error.code === 'ECONNRESET' || !socket.writable || isShakingHands) {
    socket.destroy();
    return;
  }
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const reason =
    status === 431
      ? 'The headers are too large.'
      : status === 408
        ? 'The request took too long to arrive.'
        : 'This is not an HTTP request.';
  count(status === 431 ? 'headers_too_large' : status === 408 ? 'timeout' : 'malformed');
  const requestId = newId('req');
  const { body } = errorReply(new CofferError('INVALID_REQUEST', reason), requestId);
  const text = String(body);
  const headers = {
    ...common,
    Connection: 'close',
    'X-Request-Id': requestId,
    'Content-Type': JSON_CONTENT_TYPE,
    'Content-Length': Buffer.byteLength(text),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  // A client that sent HEAD reads no body, and would take one for the next response.
  const isHead = error.rawPacket?.toString('latin1', 0, 5) === 'HEAD ';
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${isHead ? '' : text}`);
}
