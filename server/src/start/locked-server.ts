import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { trustProxies } from '../kernel/base/client-address.ts';
import { newId } from '../kernel/base/ids.ts';
import { ConnectionLimit } from '../kernel/http/connection-limit.ts';
import type { SealFailure, ShareEntry } from '../kernel/seals/root-seals.ts';
import { SHARE_TEXT_MAX, ShareProblem } from '../kernel/seals/share-text.ts';
import { systemTime } from '../kernel/time/sources.ts';
import type { Config } from '../settings/config.ts';
import { lockedPage } from './locked-page.ts';
import { type OpenedRoot, openRootKey, RootKeyLocked, shareEntry } from './open-root-key.ts';

const RETRY_FIRST_MS = 1000;
const RETRY_MAX_MS = 60_000;
const CONNECTIONS_MAX = 512;
const CONNECTIONS_PER_ADDRESS = 8;
/** Without a body there is little to send: nobody needs a connection for long. */
const LISTENER = { maxHeaderSize: 8 * 1024, connectionsCheckingInterval: 1000, keepAliveTimeout: 1000 };
const REQUEST_MS = 10_000;
const CLOSE_MS = 1000;
/** A share in a form is longer by its encoding. */
const BODY_BYTES_MAX = 4 * SHARE_TEXT_MAX;

/** What anyone may know of a node that waits: nothing here is a secret, and nothing names a key. */
export interface LockedState {
  sealed: boolean;
  shares: { set_id: string; made_on: string; needed: number; parts: number; entered: number } | null;
  seals: { reference: string; problem: SealFailure['problem'] }[];
}

/**
 * A node whose root key does not open. It tries the seals again, and takes shares at `/unseal`; everything else answers 503. A wrong share changes
 * nothing, so an unknown caller cannot hinder the people with the right ones.
 */
export class LockedServer {
  readonly #config: Config;
  readonly #log: Logger;
  readonly #locked: RootKeyLocked['locked'];
  readonly #entry: ShareEntry | null;
  readonly #ended = new AbortController();
  #failures: readonly SealFailure[];
  #wake = Promise.withResolvers<void>();
  #isOpen = false;

  constructor(config: Config, log: Logger, { locked, failures }: RootKeyLocked) {
    this.#config = config;
    this.#log = log;
    this.#locked = locked;
    this.#failures = failures;
    this.#entry = shareEntry(config, locked);
  }

  /** Resolves with the root key when a seal opens. Only the first process of a command listens: the others would answer in place of one that is ready. */
  async wait(signal: AbortSignal, isListening: boolean): Promise<OpenedRoot> {
    const server = isListening ? await this.#listen() : null;
    signal.addEventListener('abort', () => this.#ended.abort(signal.reason), { once: true });
    try {
      return await this.#openLater();
    } finally {
      this.#entry?.clear();
      if (server !== null) await closeSoon(server);
    }
  }

  async #openLater(): Promise<OpenedRoot> {
    for (let pauseMs = RETRY_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, RETRY_MAX_MS)) {
      this.#log.warn(
        {
          seals: this.#failures.map(({ reference, problem, message }) => ({ reference, problem, what_to_do: message })),
        },
        'no seal opens the root key: this node waits, and answers 503',
      );
      this.#wake = Promise.withResolvers<void>();
      await Promise.race([sleep(pauseMs, undefined, { signal: this.#ended.signal }), this.#wake.promise]);
      try {
        const opened = await openRootKey(this.#config, this.#locked, { shares: this.#entry });
        this.#isOpen = true;
        return opened;
      } catch (error) {
        if (!(error instanceof RootKeyLocked)) throw error;
        this.#failures = error.failures;
      }
    }
  }

  async #listen(): Promise<Server> {
    const { host, port, tls } = this.#config;
    // A caller who goes away, or a stored set that is damaged, ends this answer and nothing else: the shares that others entered stay.
    const answer = (request: IncomingMessage, response: ServerResponse) =>
      void this.#answer(request, response).catch((error: unknown) => {
        this.#log.debug({ err: error }, 'a call to the locked node could not be answered');
        response.destroy();
      });
    const server =
      tls === null
        ? createServer(LISTENER, answer)
        : createTlsServer(
            {
              ...LISTENER,
              cert: readFileSync(tls.certFile),
              key: readFileSync(tls.keyFile),
              handshakeTimeout: REQUEST_MS,
            },
            answer,
          );
    new ConnectionLimit({
      perAddress: CONNECTIONS_PER_ADDRESS,
      total: CONNECTIONS_MAX,
      descriptors: CONNECTIONS_MAX,
      trusted: trustProxies(this.#config.trustedProxies),
      onRefused: () => {},
      onChanged: () => {},
    }).guard(server);
    server.requestTimeout = REQUEST_MS;
    server.headersTimeout = REQUEST_MS;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    const address = server.address();
    this.#log.info({ port: typeof address === 'object' ? address?.port : port }, 'the locked node listens');
    return server;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = newId('req', systemTime.now());
    response.setHeader('X-Request-Id', requestId);
    response.setHeader('Cache-Control', 'no-store');
    const path = (request.url ?? '').split('?', 1)[0]?.replace(/^\/v1\//, '/');
    const send = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json', ...(status === 503 && { 'retry-after': '5' }) });
      response.end(JSON.stringify(body));
    };
    const refuse = (status: number, code: string, message: string) =>
      send(status, { error: { code, message, request_id: requestId } });
    if (path === '/health/live' || path === '/health') return send(200, { status: 'alive' });
    if (path === '/health/ready') return send(503, { status: 'sealed', ...this.#state() });
    if (path !== '/unseal')
      return refuse(503, 'UNAVAILABLE', 'The service is sealed: its root key has to be opened first.');
    const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') ?? false;
    const wantsPage = isForm || (request.headers.accept?.includes('text/html') ?? false);
    if (request.method === 'GET' && !wantsPage) return send(200, this.#state());
    let problem: string | null = null;
    if (request.method === 'POST') {
      try {
        this.#enter(await readShare(request, isForm));
        // The person with the last share gets an answer before the node stops listening here.
        if (this.#entry?.isComplete === true) response.once('close', () => this.#wake.resolve());
      } catch (error) {
        if (!(error instanceof ShareProblem)) throw error;
        if (!wantsPage) return refuse(422, 'VALIDATION_FAILED', error.message);
        problem = error.message;
      }
      if (!wantsPage) return send(200, this.#state());
    } else if (request.method !== 'GET') return refuse(405, 'METHOD_NOT_ALLOWED', 'Use GET or POST.');
    const { headers, html } = lockedPage(this.#state(), problem);
    response.writeHead(problem === null ? 200 : 422, headers);
    response.end(html);
  }

  #enter(text: string): void {
    const entry = this.#entry;
    if (entry === null)
      throw new ShareProblem('This node takes no shares: CV_SEALS does not name shamir, or there is no set of shares.');
    if (entry.isComplete) throw new ShareProblem('Enough shares were entered: wait for the node to start.');
    const index = entry.enter(text);
    const { id, needed } = entry.set;
    this.#log.info({ share: index, set_id: id, entered: entry.count, needed }, 'a share of the root key was entered');
  }

  #state(): LockedState {
    const entry = this.#entry;
    const set = entry?.set;
    return {
      sealed: !this.#isOpen && entry?.isComplete !== true,
      shares:
        entry === null || set === undefined
          ? null
          : { set_id: set.id, made_on: set.madeOn, needed: set.needed, parts: set.parts, entered: entry.count },
      seals: this.#failures.map(({ reference, problem }) => ({ reference: reference.split(':', 1)[0] ?? '', problem })),
    };
  }
}

async function closeSoon(server: Server): Promise<void> {
  const cutOff = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  await closed;
  clearTimeout(cutOff);
}

/** The share in a body of JSON or of a form. */
async function readShare(request: IncomingMessage, isForm: boolean): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > BODY_BYTES_MAX) throw new ShareProblem('This is too long for a share: enter one share at a time.');
    pieces.push(piece);
  }
  const text = Buffer.concat(pieces).toString('utf8');
  const share = isForm ? new URLSearchParams(text).get('share') : shareIn(text);
  if (typeof share !== 'string') throw new ShareProblem('Send {"share": "cvshare1-…"}, one share in a request.');
  return share;
}

function shareIn(text: string): unknown {
  try {
    return (JSON.parse(text) as { share?: unknown } | null)?.share;
  } catch {
    return null;
  }
}
