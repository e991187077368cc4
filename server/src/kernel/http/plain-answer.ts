import { type ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http';
import { JSON_CONTENT_TYPE } from './headers.ts';

/** What `writeHead` itself ends in: the start line, and the headers that are not yet written. It adds what keeps the connection, and the date. */
type WithStoreHeader = ServerResponse & { _storeHeader(startOfHead: string, headers: readonly string[]): void };

/** The headers that every answer has, written out once, for each set of them that there is. */
const written = new WeakMap<object, string>();
const startLines = new Map<number, string>();
/** What Node allows in a value. */
const NOT_A_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Answers with JSON and the usual headers; says whether it did. Node looks at each header by itself, which costs more than all else it does for
 * an answer (5 of 20 µs, measured by themselves); most of them are the same in every answer. What is not usual is left to `writeHead`.
 */
export function writePlain(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  common: Readonly<Record<string, string>>,
  body: string,
): boolean {
  let head = startOf(status, common);
  for (const name in headers) {
    const value = headers[name] as string;
    if (common[name] !== undefined || NOT_PLAIN.has(name) || NOT_A_VALUE.test(value)) return false;
    head += `${name}: ${value}\r\n`;
  }
  // Set by the framework while the service ends: the connection is to end with this answer.
  if (response.hasHeader('Connection')) return false;
  response.statusCode = status;
  (response as WithStoreHeader)._storeHeader(head, ['Content-Length', String(Buffer.byteLength(body))]);
  response.end(body);
  return true;
}

/** Headers that change what the connection or the body is. */
const NOT_PLAIN = new Set(['Content-Type', 'Connection']);

function startOf(status: number, common: Readonly<Record<string, string>>): string {
  let line = startLines.get(status);
  if (line === undefined) {
    line = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    startLines.set(status, line);
  }
  let usual = written.get(common);
  if (usual === undefined) {
    usual = `Content-Type: ${JSON_CONTENT_TYPE}\r\n`;
    for (const [name, value] of Object.entries(common)) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
      usual += `${name}: ${value}\r\n`;
    }
    written.set(common, usual);
  }
  return line + usual;
}
