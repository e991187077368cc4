import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { SECOND_MS } from '../base/clock.ts';
import { activeTrace } from '../observability/trace.ts';
import { type AddressGuard, BlockedAddress, type Destination, UnresolvedHost } from './address-guard.ts';
import { OutgoingSlots } from './outgoing-slots.ts';

export const TIMEOUT_DEFAULT_MS = 10 * SECOND_MS;
export const URL_LENGTH_MAX = 8192;
const ANSWER_HEADER_BYTES_MAX = 16 * 1024;

export interface OutgoingRequest {
  /** The tenant whose settings cause the call. */
  readonly owner: string;
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** The only certificate authorities trusted for this call, instead of the system's. */
  readonly caPem?: string | undefined;
  /** The client certificate and its key, for a host that requests one. */
  readonly identity?: { readonly certPem: string; readonly keyPem: string };
  readonly bodyBytesMax: number;
  /** For the whole call: resolving the name, connecting, waiting, reading. */
  readonly timeoutMs?: number;
  /** Restricts the call to private addresses that the operator allowed, for endpoints that replace those of a well-known provider. */
  readonly onlyOpened?: boolean;
  /** Ends the call when it is aborted, for example because nobody waits for the response any more. */
  readonly signal?: AbortSignal | undefined;
}

export interface OutgoingAnswer {
  readonly status: number;
  /** In lower case, without parameters; empty if there was none. */
  readonly contentType: string;
  /** How long the host wants the caller to wait, if it says so in seconds. */
  readonly retryAfterMs: number | null;
  readonly body: Buffer;
}

/** A response whose body is read as it arrives. The pieces must be read to their end or closed: until then the call holds a connection. */
export interface OutgoingStream extends Omit<OutgoingAnswer, 'body'> {
  readonly pieces: AsyncGenerator<Buffer, void>;
}

const PROBLEMS = {
  url: 'the URL cannot be used for an outgoing request',
  blocked: 'the host is not public, and the operator has not allowed it',
  unresolved: 'the host name cannot be resolved',
  insecure: 'plain http is only for private hosts that the operator has allowed',
  'not-opened': 'the operator has not allowed this host',
  busy: 'too many outgoing requests are in progress',
  timeout: 'the host did not respond in time',
  cancelled: 'the request was cancelled',
  redirect: 'the host responded with a redirect',
  encoded: 'the response is compressed',
  'too-large': 'the response is too large',
  connection: 'the connection failed',
} as const;
export type OutgoingProblem = keyof typeof PROBLEMS;

/** An outgoing call failed. The message is our own: it contains no part of the URL, of a header or of a response. */
export class OutgoingFailure extends Error {
  override readonly name = 'OutgoingFailure';
  readonly problem: OutgoingProblem;

  constructor(problem: OutgoingProblem, code = '') {
    super(code === '' ? PROBLEMS[problem] : `${PROBLEMS[problem]} (${code})`);
    this.problem = problem;
  }
}

/** Calls to hosts that tenants choose. Each has its own connection, goes only where the guard allows, and has a time limit. */
export class HttpClient {
  readonly #guard: AddressGuard;
  /** For calls to such hosts that are not made by this client, too. */
  readonly slots = new OutgoingSlots();

  constructor(guard: AddressGuard) {
    this.#guard = guard;
  }

  async send(outgoing: OutgoingRequest): Promise<OutgoingAnswer> {
    const { pieces, ...answer } = await this.open(outgoing);
    const body: Buffer[] = [];
    for await (const piece of pieces) body.push(piece);
    return { ...answer, body: Buffer.concat(body) };
  }

  /** Resolves when the headers of the response have arrived. */
  async open(outgoing: OutgoingRequest): Promise<OutgoingStream> {
    const url = usableUrl(outgoing.url);
    const leave = this.slots.enter(outgoing.owner, url.host);
    if (leave === null) throw new OutgoingFailure('busy');
    const deadline = new Deadline(outgoing.timeoutMs ?? TIMEOUT_DEFAULT_MS, outgoing.signal);
    deadline.onEnd(leave);
    const endSpan = activeTrace()?.child('outgoing', { 'http.request.method': outgoing.method }, 'client');
    if (endSpan !== undefined) deadline.onEnd(() => endSpan());
    try {
      const destination = await deadline.before(this.#destination(url, outgoing.onlyOpened ?? false));
      const response = await deadline.before(responseTo(outgoing, url, destination, deadline));
      const status = acceptedStatus(response, outgoing.bodyBytesMax);
      const contentType = (response.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
      const pieces = piecesOf(response, outgoing.bodyBytesMax, deadline);
      return { status, contentType, retryAfterMs: retryAfterOf(response), pieces };
    } catch (error) {
      deadline.end();
      throw failureOf(error);
    }
  }

  /** Resolved once: the call connects to this address, whatever the name resolves to later. */
  async #destination(url: URL, onlyOpened: boolean): Promise<Destination> {
    const destination = await this.#guard.resolve(url.hostname);
    if (onlyOpened && !destination.isPrivateAllowed) throw new OutgoingFailure('not-opened');
    if (url.protocol !== 'https:' && !destination.isPrivateAllowed) throw new OutgoingFailure('insecure');
    return destination;
  }
}

/** A URL for an outgoing call, or null. Nothing is repaired: text that the parser would read differently than written is refused. */
export function parseOutgoingUrl(text: string): URL | null {
  if (text.length > URL_LENGTH_MAX || !/^https?:\/\/[\x21-\x7e]+$/.test(text) || /[\\#]/.test(text)) return null;
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const authority = text.slice(url.protocol.length + 2).split(/[/?]/, 1)[0];
  // One spelling: no user or password, no upper case, no default port, no number that encodes an address.
  return authority === url.host ? url : null;
}

function usableUrl(text: string): URL {
  const url = parseOutgoingUrl(text);
  if (url === null) throw new OutgoingFailure('url');
  return url;
}

function acceptedStatus({ statusCode: status = 0, headers }: IncomingMessage, bodyBytesMax: number): number {
  if (status >= 300 && status < 400) throw new OutgoingFailure('redirect');
  const encoding = headers['content-encoding'];
  // We requested no encoding, and a small compressed response could expand to a huge one.
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw new OutgoingFailure('encoded');
  if (Number(headers['content-length'] ?? 0) > bodyBytesMax) throw new OutgoingFailure('too-large');
  return status;
}

async function* piecesOf(response: IncomingMessage, bodyBytesMax: number, deadline: Deadline) {
  const pieces = (response as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  try {
    for (let length = 0; ; ) {
      const { done, value } = await deadline.before(pieces.next());
      if (done === true) return;
      length += value.length;
      if (length > bodyBytesMax) throw new OutgoingFailure('too-large');
      yield value;
    }
  } catch (error) {
    throw failureOf(error);
  } finally {
    deadline.end();
  }
}

function retryAfterOf({ headers }: IncomingMessage): number | null {
  const text = headers['retry-after'] ?? '';
  return /^\d{1,6}$/.test(text) ? Number(text) * SECOND_MS : null;
}

function responseTo(
  outgoing: OutgoingRequest,
  url: URL,
  destination: Destination,
  deadline: Deadline,
): Promise<IncomingMessage> {
  const isTls = url.protocol === 'https:';
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  const options: RequestOptions & Record<string, unknown> = {
    host: destination.address,
    family: destination.family,
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    method: outgoing.method,
    // A separate connection that is closed afterwards, so that no state of one call reaches the next.
    agent: false,
    maxHeaderSize: ANSWER_HEADER_BYTES_MAX,
    headers: {
      'user-agent': 'coffer',
      ...outgoing.headers,
      host: url.host,
      connection: 'close',
      ...(outgoing.body !== undefined && { 'content-length': String(Buffer.byteLength(outgoing.body)) }),
    },
    ...(isTls && {
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
      // The certificate must be for the name in the URL, although the connection goes to an address.
      ...(isIP(host) === 0 && { servername: host }),
      ...(outgoing.identity && { cert: outgoing.identity.certPem, key: outgoing.identity.keyPem }),
      // `caPem` may be the server's own certificate instead of that of the authority that signed it.
      ...(outgoing.caPem !== undefined && { ca: outgoing.caPem, allowPartialTrustChain: true }),
    }),
  };
  return new Promise((resolve, reject) => {
    const request: ClientRequest = isTls ? httpsRequest(options) : httpRequest(options);
    deadline.onEnd(() => request.destroy());
    request.once('response', resolve);
    // Errors after the response began are handled where it is read. Without a listener here they would end the process.
    request.on('error', reject);
    request.once('upgrade', (_, socket) => {
      socket.destroy();
      reject(new OutgoingFailure('connection', 'UPGRADE'));
    });
    request.end(outgoing.body);
  });
}

/** One time limit for the whole call. When it expires or the call ends, everything opened for the call is closed. */
class Deadline {
  readonly #timer: NodeJS.Timeout;
  readonly #late: Promise<never>;
  readonly #endings: (() => void)[] = [];

  constructor(ms: number, signal: AbortSignal | undefined) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.#late = promise;
    this.#late.catch(() => {});
    const stop = (problem: OutgoingProblem) => {
      reject(new OutgoingFailure(problem));
      this.end();
    };
    this.#timer = setTimeout(() => stop('timeout'), ms);
    if (signal === undefined) return;
    const cancel = () => stop('cancelled');
    if (signal.aborted) cancel();
    signal.addEventListener('abort', cancel);
    this.onEnd(() => signal.removeEventListener('abort', cancel));
  }

  before<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#late]);
  }

  onEnd(ending: () => void): void {
    this.#endings.push(ending);
  }

  end(): void {
    clearTimeout(this.#timer);
    for (const ending of this.#endings.splice(0)) ending();
  }
}

const ERROR_CODE = /^[A-Z][A-Z0-9_]{1,63}$/;

/** Reports only the error code, because messages of sockets and TLS quote addresses, names and sent data. */
function failureOf(error: unknown): OutgoingFailure {
  if (error instanceof OutgoingFailure) return error;
  if (error instanceof BlockedAddress) return new OutgoingFailure('blocked');
  if (error instanceof UnresolvedHost) return new OutgoingFailure('unresolved');
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return new OutgoingFailure('connection', ERROR_CODE.test(code) ? code : '');
}
