import { type Auth, Authenticator } from './auth.ts';
import { CofferError, refusalOf } from './errors.ts';
import { type Authorize, baseOf, type Credentials, sendToRegion } from './regions.ts';
import { type AnyInput, type Route, type RouteInput, type RouteOutput, requestLine } from './routes.ts';
import { fetchTransport, type Transport, type TransportResponse } from './transport.ts';

export interface ConnectionOptions {
  /** The address of the service, such as `https://coffer.example.com`. */
  url: string;
  auth: Auth;
  /** The addresses of all regions, if there are several. Credentials are sent to these only, and to `url`. */
  regions?: readonly string[];
  /** How requests are sent: by the `fetch` of the runtime unless given. */
  transport?: Transport;
  /** For a whole call, with all its attempts: 30 seconds unless given. */
  timeoutMs?: number;
  /** How often a call that may be repeated is tried at most: 3 unless given. */
  attempts?: number;
  /** Shown in the audit log. Browsers send their own. */
  userAgent?: string;
}

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  /** The same key makes a change only once, so that the call may be repeated. */
  idempotencyKey?: string;
  /** The call changes nothing although it is a POST, so that it may be repeated. */
  isRead?: boolean;
}

const TIMEOUT_MS = 30_000;
const ATTEMPTS = 3;
const BACKOFF_MS = 200;
const REPEATED_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Sends calls to the service: credentials, time limits, repetition, regions and errors. */
export class Connection {
  readonly #regions: readonly string[];
  readonly #transport: Transport;
  readonly #authenticator: Authenticator;
  readonly #timeoutMs: number;
  readonly #attempts: number;
  readonly #userAgent: string | null;

  constructor({ url, auth, regions = [], transport, timeoutMs, attempts, userAgent }: ConnectionOptions) {
    this.#regions = [...new Set([url, ...regions].map(baseOf))];
    this.#transport = transport ?? fetchTransport();
    this.#timeoutMs = timeoutMs ?? TIMEOUT_MS;
    this.#attempts = attempts ?? ATTEMPTS;
    this.#userAgent = userAgent ?? null;
    this.#authenticator = new Authenticator(auth, async (route, input, authorize) => {
      const response = await this.#send(route, input, { isRead: true }, authorize);
      return { data: parsed(response.text), date: response.date };
    });
  }

  async call<R extends Route>(route: R, input: RouteInput<R>, options: CallOptions = {}): Promise<RouteOutput<R>> {
    const { text } = await this.text(route, input as AnyInput, options);
    if (text === '') return undefined as RouteOutput<R>;
    return parsed(text) as RouteOutput<R>;
  }

  /** The answer as it came, for routes that do not answer JSON. */
  async text(route: Route, input: AnyInput, options: CallOptions = {}): Promise<{ text: string; status: number }> {
    return this.#send(route, input, options, (request) => this.#authenticator.credentials(request));
  }

  async #send(route: string, input: AnyInput, options: CallOptions, authorize: Authorize): Promise<Answered> {
    const { method, target } = requestLine(route, input);
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    const deadline = performance.now() + timeoutMs;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
    const isRepeatable = method === 'GET' || options.isRead === true || options.idempotencyKey !== undefined;
    const body = input.body === undefined ? undefined : JSON.stringify(input.body);
    const headers = {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(this.#userAgent !== null && { 'user-agent': this.#userAgent }),
      ...(options.idempotencyKey !== undefined && { 'idempotency-key': options.idempotencyKey }),
      ...definedOf(input.header),
    };

    let hasRenewed = false;
    for (let attempt = 1; ; attempt++) {
      let sent: Credentials = { headers: {} };
      const outcome = await this.#attempt(
        signal,
        sendToRegion(
          { transport: this.#transport, regions: this.#regions },
          target,
          async (request) => {
            sent = await authorize(request);
            return sent;
          },
          { method, headers, signal, ...(body !== undefined && { body }) },
        ),
      );
      if ('text' in outcome) return outcome;
      options.signal?.throwIfAborted();
      const { error, nonce } = outcome;
      // A request refused with 401 was not carried out, so it may be sent again, whatever it is.
      if (error.status === 401 && !hasRenewed && this.#authenticator.retriesAfterRefusal(sent, nonce)) {
        hasRenewed = true;
        continue;
      }
      const isInFlight = attempt > 1 && error.code === 'IN_USE' && options.idempotencyKey !== undefined;
      const isPassing = error.code === 'NO_ANSWER' || REPEATED_STATUSES.has(error.status) || isInFlight;
      if (!isRepeatable || !isPassing || attempt >= this.#attempts) throw error;
      const waitMs = waitOf(attempt, error.retryAfterSeconds);
      if (performance.now() + waitMs >= deadline) throw error;
      await sleep(waitMs, options.signal);
    }
  }

  async #attempt(signal: AbortSignal, sending: Promise<TransportResponse>): Promise<Answered | Failed> {
    try {
      const response = await untilAborted(sending, signal);
      const text = await untilAborted(response.text(), signal);
      const { status, headers } = response;
      if (status >= 200 && status < 300) return { text, status, date: headers.get('date') };
      return { error: refusalOf(status, (name) => headers.get(name), text), nonce: headers.get('dpop-nonce') };
    } catch (error) {
      return {
        error: error instanceof CofferError ? error : noAnswer(error, signal, this.#regions[0] ?? ''),
        nonce: null,
      };
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const message = 'The answer is not JSON. Check the URL and what is in between.';
    throw new CofferError(message, { code: 'UNEXPECTED_ANSWER' });
  }
}

interface Answered {
  text: string;
  status: number;
  /** The time by the clock of the service. */
  date: string | null;
}

interface Failed {
  error: CofferError;
  /** What the next DPoP proof must contain. */
  nonce: string | null;
}

function noAnswer(cause: unknown, signal: AbortSignal, url: string): CofferError {
  if (signal.aborted && (signal.reason as Error)?.name === 'TimeoutError') {
    const message = `${url} did not answer in time. Whether a change was made is not known.`;
    return new CofferError(message, { code: 'TIMED_OUT', cause });
  }
  const message = `${url} cannot be reached${reasonOf(cause)}. Check the URL and the network.`;
  return new CofferError(message, { code: 'NO_ANSWER', cause });
}

function definedOf(headers: AnyInput['header'] = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** At least as long as the service asks for; otherwise a random time below a bound that doubles. */
function waitOf(attempt: number, retryAfterSeconds: number | null): number {
  const random = Math.random() * BACKOFF_MS * 2 ** attempt;
  return retryAfterSeconds === null ? random : retryAfterSeconds * 1000 + random;
}

/** A transport or a credential that does not look at the signal must not hold the caller. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // If the signal comes first, nobody hears of a failure that follows from it.
  promise.catch(() => {});
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', abort));
}

export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = () => reject(signal?.reason);
  signal?.addEventListener('abort', stop, { once: true });
  const timer = setTimeout(resolve, ms);
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  });
}

/** The system's code for a failed connection, such as ECONNREFUSED. The texts of runtimes may quote what was sent. */
function reasonOf(error: unknown): string {
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code } = one as { code?: unknown };
    if (typeof code === 'string') return ` (${code})`;
  }
  return '';
}
