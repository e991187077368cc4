import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { SECOND_MS } from '../clock.ts';
import { type AddressGuard, BlockedAddress, type Destination, UnresolvedHost } from './address-guard.ts';

export const TIMEOUT_DEFAULT_MS = 10 * SECOND_MS;
export const URL_LENGTH_MAX = 8192;
const ANSWER_HEADER_BYTES_MAX = 16 * 1024;
/** Calls of a tenant under way to one host: whoever answers slowly holds no more than these … */
export const PER_OWNER_AND_HOST_MAX = 32;
/** … a tenant with many slow hosts no more than these … */
export const PER_OWNER_MAX = 64;
/** … all tenants together to one host, which many share, as those of a cloud, no more than these … */
const PER_HOST_MAX = 256;
/** … and all of them are as many as a process can bear. So one tenant never has more than an eighth of what others wait for. */
const AT_ONCE_MAX = 1024;

export interface OutgoingRequest {
  /** The tenant whose settings it follows. */
  readonly owner: string;
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The only authorities believed for this call, in place of those the system knows. */
  readonly caPem?: string | undefined;
  readonly bodyBytesMax: number;
  /** For everything: looking the name up, connecting, waiting, reading. */
  readonly timeoutMs?: number;
  /** Only to private addresses that the operator opened: for endpoints that stand in for those of a well-known provider. */
  readonly onlyOpened?: boolean;
}

export interface OutgoingAnswer {
  readonly status: number;
  /** In lower case, without parameters; empty if there was none. */
  readonly contentType: string;
  readonly body: Buffer;
}

const PROBLEMS = {
  url: 'the URL cannot be used for an outgoing call',
  blocked: 'the host is not public, and the operator did not open it',
  unresolved: 'the host has no address',
  insecure: 'plain http is only for private hosts that the operator opened',
  'not-opened': 'the host is not one that the operator opened',
  busy: 'too many outgoing calls are under way',
  timeout: 'the host did not answer in time',
  redirect: 'the host answered with a redirect',
  encoded: 'the answer is compressed',
  'too-large': 'the answer is too large',
  connection: 'the connection failed',
} as const;
export type OutgoingProblem = keyof typeof PROBLEMS;

/** An outgoing call that came to nothing. Its text is ours alone: no part of the URL, of a header or of an answer is in it. */
export class OutgoingFailure extends Error {
  override readonly name = 'OutgoingFailure';
  readonly problem: OutgoingProblem;

  constructor(problem: OutgoingProblem, code = '') {
    super(code === '' ? PROBLEMS[problem] : `${PROBLEMS[problem]} (${code})`);
    this.problem = problem;
  }
}

/** Calls to hosts that tenants choose. Each has its own connection, goes where the guard says, and ends in time. */
export class HttpClient {
  readonly #guard: AddressGuard;
  readonly #underWay = new Map<string, number>();

  constructor(guard: AddressGuard) {
    this.#guard = guard;
  }

  async send(outgoing: OutgoingRequest): Promise<OutgoingAnswer> {
    const url = usableUrl(outgoing.url);
    const { owner } = outgoing;
    const slots: [string, number][] = [
      [`owner ${owner} host ${url.host}`, PER_OWNER_AND_HOST_MAX],
      [`owner ${owner}`, PER_OWNER_MAX],
      [`host ${url.host}`, PER_HOST_MAX],
      ['all', AT_ONCE_MAX],
    ];
    this.#enter(slots);
    const deadline = new Deadline(outgoing.timeoutMs ?? TIMEOUT_DEFAULT_MS);
    try {
      const destination = await deadline.before(this.#destination(url, outgoing.onlyOpened ?? false));
      return await deadline.before(exchange(outgoing, url, destination, deadline));
    } catch (error) {
      throw told(error);
    } finally {
      deadline.end();
      this.#leave(slots);
    }
  }

  /** Resolved once: the call goes to this very address, whatever the name says when it is asked again. */
  async #destination(url: URL, onlyOpened: boolean): Promise<Destination> {
    const destination = await this.#guard.resolve(url.hostname);
    if (onlyOpened && !destination.isPrivateAllowed) throw new OutgoingFailure('not-opened');
    if (url.protocol !== 'https:' && !destination.isPrivateAllowed) throw new OutgoingFailure('insecure');
    return destination;
  }

  #enter(slots: readonly [string, number][]): void {
    if (slots.some(([name, max]) => (this.#underWay.get(name) ?? 0) >= max)) throw new OutgoingFailure('busy');
    for (const [name] of slots) this.#underWay.set(name, (this.#underWay.get(name) ?? 0) + 1);
  }

  #leave(slots: readonly [string, number][]): void {
    for (const [name] of slots) {
      const left = (this.#underWay.get(name) ?? 1) - 1;
      if (left === 0) this.#underWay.delete(name);
      else this.#underWay.set(name, left);
    }
  }
}

/** A URL that a call can go to, or null. Nothing is repaired: what the parser would read differently than it is written is refused. */
export function parseOutgoingUrl(text: string): URL | null {
  if (text.length > URL_LENGTH_MAX || !/^https?:\/\/[\x21-\x7e]+$/.test(text) || /[\\#]/.test(text)) return null;
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const authority = text.slice(url.protocol.length + 2).split(/[/?]/, 1)[0];
  // One spelling: no user or password, no upper case, no default port, no number that stands for an address.
  return authority === url.host ? url : null;
}

function usableUrl(text: string): URL {
  const url = parseOutgoingUrl(text);
  if (url === null) throw new OutgoingFailure('url');
  return url;
}

async function exchange(
  outgoing: OutgoingRequest,
  url: URL,
  destination: Destination,
  deadline: Deadline,
): Promise<OutgoingAnswer> {
  const response = await responseTo(outgoing, url, destination, deadline);
  const status = response.statusCode ?? 0;
  if (status >= 300 && status < 400) throw new OutgoingFailure('redirect');
  const encoding = response.headers['content-encoding'];
  // None was asked for, and unpacking would make much of little.
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw new OutgoingFailure('encoded');
  if (Number(response.headers['content-length'] ?? 0) > outgoing.bodyBytesMax) throw new OutgoingFailure('too-large');
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > outgoing.bodyBytesMax) throw new OutgoingFailure('too-large');
    pieces.push(piece);
  }
  const contentType = (response.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return { status, contentType, body: Buffer.concat(pieces) };
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
    // A connection of its own, closed afterwards: nothing of one call is there for the next.
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
      // The certificate must be that of the name in the URL, although the connection goes to an address.
      ...(isIP(host) === 0 && { servername: host }),
      // Whoever pins the server's own certificate, and not the authority that signed it, means it.
      ...(outgoing.caPem !== undefined && { ca: outgoing.caPem, allowPartialTrustChain: true }),
    }),
  };
  return new Promise((resolve, reject) => {
    const request: ClientRequest = isTls ? httpsRequest(options) : httpRequest(options);
    deadline.onEnd(() => request.destroy());
    request.once('response', resolve);
    // Errors after the answer began are those of the answer; without a listener here they would end the process.
    request.on('error', reject);
    request.once('upgrade', (_, socket) => {
      socket.destroy();
      reject(new OutgoingFailure('connection', 'UPGRADE'));
    });
    request.end(outgoing.body);
  });
}

/** One time for the whole call. When it is over, or the call is, everything that was opened for it is closed. */
class Deadline {
  readonly #timer: NodeJS.Timeout;
  readonly #late: Promise<never>;
  readonly #endings: (() => void)[] = [];

  constructor(ms: number) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.#late = promise;
    this.#late.catch(() => {});
    this.#timer = setTimeout(() => {
      reject(new OutgoingFailure('timeout'));
      this.end();
    }, ms);
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

/** What went wrong below, by its code alone: messages of sockets and TLS quote addresses, names and what was sent. */
function told(error: unknown): OutgoingFailure {
  if (error instanceof OutgoingFailure) return error;
  if (error instanceof BlockedAddress) return new OutgoingFailure('blocked');
  if (error instanceof UnresolvedHost) return new OutgoingFailure('unresolved');
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return new OutgoingFailure('connection', ERROR_CODE.test(code) ? code : '');
}
