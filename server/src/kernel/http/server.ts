import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import type { AddressInfo, Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { workerShares } from '../../settings/worker-shares.ts';
import type { Call } from '../auth/call.ts';
import { clientCertificate } from '../auth/peer-certificate.ts';
import { clientAddress, type TrustedProxies, trustProxies } from '../base/client-address.ts';
import { SECOND_MS } from '../base/clock.ts';
import { CofferError } from '../base/errors.ts';
import { PAGE_SECURITY_POLICY, securityHeaders } from '../base/headers.ts';
import { newId } from '../base/ids.ts';
import type { ListeningPorts } from '../base/service-urls.ts';
import { Deadline } from '../endpoint/deadline.ts';
import type { EndpointDeclaration } from '../endpoint/declaration.ts';
import { type Span, Trace, withinTrace } from '../observability/trace.ts';
import { TurnMonitor } from '../observability/turn-monitor.ts';
import type { Kernel } from '../request/kernel.ts';
import type { Pipeline } from '../request/pipeline.ts';
import type { ReadyEndpoint } from '../request/ready-endpoint.ts';
import { errorReply, isPage, isRefusal, type Reply } from '../request/reply.ts';
import { hasCredential, unroutedEndpoint } from '../request/unrouted.ts';
import type { WireFormat } from '../wire/wire-format.ts';
import { SlowReader } from './answer-writer.ts';
import { consoleTarget, sessionCookie, withCookie } from './browser-session.ts';
import { ConnectionLimit } from './connection-limit.ts';
import { ForeignHosts, OwnHosts, ownNames } from './own-hosts.ts';
import { type ParserError, refuseConnection, writeReply } from './reply-writer.ts';
import { type BodyReading, bodyReading, RequestBody } from './request-body.ts';
import { type LoggedRequest, RequestLog } from './request-log.ts';
import { type Found, find, methodOf, type RefusedEarly, type Routing, routerOf } from './router.ts';
import type { CurrentIdentity } from './tls-identity.ts';
import { connectionCutter, createTlsListener, HANDSHAKE_TIMEOUT_MS, tlsPortError } from './tls-listener.ts';
import { hasBody } from './unread-body.ts';

/** Limits for the cost of a connection before anything is known about it. */
const HEADER_BYTES_MAX = 16 * 1024;
const HEADERS_TIMEOUT_MS = 10 * SECOND_MS;
const REQUEST_TIMEOUT_MS = 30 * SECOND_MS;
const KEEP_ALIVE_TIMEOUT_MS = 65 * SECOND_MS;
const CLOSE_SWEEP_MS = 50;
/** Clients that have not sent their request or read their response by then would delay the shutdown for everyone. */
const CLOSE_GRACE_MS = 10 * SECOND_MS;

/** What arrived. */
interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly logged: LoggedRequest;
  /** The target of a request that the console sent; null for all others. */
  readonly ofConsole: string | null;
}

/** A request to an endpoint, while it is answered. */
interface Exchange extends Arrival {
  readonly endpoint: ReadyEndpoint;
  readonly call: Call;
  readonly body: RequestBody | null;
  readonly started: number;
}

/**
 * The HTTP layer: parsing within limits, routing, and turning the replies of the pipeline into responses. `identity` is present if any listener
 * uses TLS.
 */
export class HttpServer {
  readonly #kernel: Kernel;
  readonly #pipeline: Pipeline;
  readonly #main: Server | SecureServer;
  readonly #tlsListener: SecureServer | null;
  readonly #cutters: readonly (() => void)[];
  readonly #routing: Routing;
  readonly #logout: ReadyEndpoint | undefined;
  readonly #trusted: TrustedProxies;
  /** Headers of every response. */
  readonly #common: Readonly<Record<string, string>>;
  readonly #reading: BodyReading;
  readonly #requestLog: RequestLog;
  readonly #turns: TurnMonitor;
  readonly #foreignHosts: ForeignHosts;

  constructor(
    kernel: Kernel,
    endpoints: readonly ReadyEndpoint[],
    pipeline: Pipeline,
    identity: CurrentIdentity | null,
  ) {
    const { config, log } = kernel;
    this.#kernel = kernel;
    this.#pipeline = pipeline;
    this.#common = securityHeaders(config.tls !== null || config.baseUrl(config.port).startsWith('https:'));
    this.#trusted = trustProxies(config.trustedProxies);
    this.#reading = bodyReading(kernel);
    this.#routing = {
      router: routerOf(endpoints),
      formats: [...new Set(endpoints.flatMap(({ declaration: { format } }) => format ?? []))],
      ownHosts: new OwnHosts(ownNames(config, kernel.regionGate.ownUrl)),
    };
    this.#logout = endpoints.find(({ declaration }) => declaration.session === 'ends');
    this.#requestLog = new RequestLog(config.requestLog, log);
    this.#turns = new TurnMonitor(kernel.metrics, log);
    this.#foreignHosts = new ForeignHosts(log);
    const options = { ...NODE_OPTIONS, requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS };
    this.#main = createMainListener(options, config.tls === null ? null : identity);
    if (config.tls !== null) identity?.keep(this.#main as SecureServer);
    this.#tlsListener = config.tlsPort === null || identity === null ? null : createTlsListener(identity, options);
    const connections = this.#connectionLimit();
    for (const listener of this.#listeners) this.#serveOn(listener, connections);
    this.#cutters = this.#listeners.map(connectionCutter);
  }

  get #listeners(): readonly (Server | SecureServer)[] {
    return this.#tlsListener === null ? [this.#main] : [this.#main, this.#tlsListener];
  }

  async listen(): Promise<ListeningPorts> {
    const { config } = this.#kernel;
    this.#main.listen({ host: config.host, port: config.port });
    await once(this.#main, 'listening');
    try {
      return { port: portOf(this.#main) ?? config.port, tlsPort: await listenForTls(this.#kernel, this.#tlsListener) };
    } catch (error) {
      await closed(this.#main);
      throw error;
    }
  }

  /**
   * Closes idle connections repeatedly, because a connection whose last response ends during the shutdown would otherwise stay open for its next
   * request.
   */
  async close(): Promise<void> {
    const sweep = setInterval(() => {
      for (const listener of this.#listeners) listener.closeIdleConnections();
    }, CLOSE_SWEEP_MS);
    const cutOff = setTimeout(() => {
      for (const cut of this.#cutters) cut();
    }, CLOSE_GRACE_MS);
    await Promise.all([closed(this.#main), closed(this.#tlsListener)]);
    await this.#reading.json.close();
    this.#turns.close();
    clearInterval(sweep);
    clearTimeout(cutOff);
  }

  #connectionLimit(): ConnectionLimit {
    const { config, metrics } = this.#kernel;
    const shares = workerShares(config);
    return new ConnectionLimit({
      perAddress: shares.connectionsPerAddress,
      total: shares.connectionsMax,
      descriptors: shares.descriptorsForClients,
      trusted: this.#trusted,
      onRefused: (reason) => metrics.connectionsRefused.labels(reason).inc(),
      onChanged: (difference) => {
        metrics.connections += difference;
      },
    });
  }

  #serveOn(listener: Server | SecureServer, connections: ConnectionLimit): void {
    const countRefused = (reason: RefusedEarly) => this.#countRefused(reason);
    connections.guard(listener);
    listener.on('clientError', (error: ParserError, socket: Duplex) =>
      refuseConnection(error, socket, this.#common, countRefused),
    );
    listener.on('request', (request: IncomingMessage, response: ServerResponse) => this.#serve(request, response));
    listener.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      const requestId = newId('req');
      countRefused('expectation');
      const headers = { 'X-Request-Id': requestId, Connection: 'close' };
      writeReply(response, errorReply(UNKNOWN_EXPECTATION, requestId, headers), this.#common);
      request.destroy();
    });
    // The client gets 100 Continue only when its body is to be read.
    listener.on('checkContinue', (request: IncomingMessage, response: ServerResponse) =>
      this.#serve(request, response),
    );
  }

  #countRefused(reason: RefusedEarly): void {
    this.#kernel.metrics.refusedBeforeRouting.labels(reason).inc();
  }

  /** One asynchronous function for all of it, because each takes as much memory as everything else that a request needs here. */
  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { metrics, log } = this.#kernel;
    // Generated by us, never the caller’s: a chosen id could point to somebody else's request.
    const requestId = newId('req');
    metrics.requestsInFlight++;
    try {
      const ofConsole = this.#kernel.config.isConsoleOn ? consoleTarget(request.url ?? '/') : null;
      const found = find(this.#routing, request, ofConsole);
      const arrival = { request, response, logged: this.#loggedOf(request, requestId, found), ofConsole };
      this.#requestLog.arrived(arrival.logged, response);
      if (found.endpoint === null) await this.#answerWithoutEndpoint(found, arrival);
      else {
        const exchange = this.#begin(found.endpoint, found.params, arrival);
        let reply: Reply;
        try {
          reply = await this.#replyTo(exchange);
        } finally {
          this.#turns.end(found.endpoint.declaration.name);
        }
        const ending = this.#answered(exchange, reply);
        if (ending !== undefined) await ending;
      }
    } catch (error) {
      log.error({ err: error, request_id: requestId }, 'a response could not be sent');
      if (response.headersSent) response.destroy();
      else this.#send(response, errorReply(FAILED, requestId), requestId);
    } finally {
      metrics.requestsInFlight--;
    }
  }

  #loggedOf(request: IncomingMessage, request_id: string, { endpoint }: Found): LoggedRequest {
    const forwardedFor = request.headers['x-forwarded-for'];
    return {
      request_id,
      method: methodOf(request),
      route: endpoint === null ? null : endpoint.declaration.path,
      address: clientAddress(request.socket.remoteAddress ?? '', forwardedFor, this.#trusted),
    };
  }

  async #answerWithoutEndpoint(found: Extract<Found, { endpoint: null }>, arrival: Arrival): Promise<void> {
    const { request, response, logged } = arrival;
    if (found.reason !== null) this.#countRefused(found.reason);
    if (found.reason === 'unknown_host') this.#foreignHosts.report(request.headers.host);
    this.#send(response, await this.#withoutEndpoint(found, request, logged), logged.request_id);
  }

  #begin(endpoint: ReadyEndpoint, params: Call['params'], arrival: Arrival): Exchange {
    const { request, response, logged, ofConsole } = arrival;
    const { config, traces } = this.#kernel;
    const { declaration } = endpoint;
    const { headers, url = '/' } = request;
    const call: Call = {
      requestId: logged.request_id,
      method: logged.method,
      url: ofConsole ?? url,
      headers,
      session: ofConsole === null ? undefined : sessionCookie(headers),
      params,
      body: undefined,
      address: logged.address,
      certificate: this.#certificateOf(request),
      departure: () => departureOf(response),
      deadline: declaration.bulk === true ? undefined : new Deadline(config.requestTimeoutMs),
      trace: (traces === null ? null : Trace.begin(headers.traceparent as string | undefined)) ?? undefined,
    };
    const body = hasBody(request) ? new RequestBody(request, response, this.#reading, declaration) : null;
    this.#turns.begin(declaration.name);
    return { request, response, logged, ofConsole, endpoint, call, body, started: performance.now() };
  }

  #replyTo({ endpoint, call, body, logged }: Exchange): Promise<Reply> {
    const { deadline, trace } = call;
    const act = () => this.#pipeline.answer(endpoint, call, body);
    const begin = trace === undefined ? act : () => withinTrace(trace, act);
    if (deadline === undefined) return begin();
    return deadline.answer(begin, (error) => this.#tooLate(logged, error, endpoint.declaration.format));
  }

  /** Returns a promise only if there is something to wait for. */
  #answered(exchange: Exchange, reply: Reply): Promise<void> | undefined {
    const { logged, ofConsole, endpoint, call, body, started } = exchange;
    const { metrics, traces } = this.#kernel;
    const { declaration } = endpoint;
    const durationMs = performance.now() - started - (body?.waitedMs ?? 0);
    metrics.observeRequest(declaration.name, reply.status, durationMs / SECOND_MS);
    this.#requestLog.answered(logged, reply.status, durationMs);
    if (call.trace !== undefined) traces?.add(endOf(call.trace, logged, reply.status));
    if (isPage(declaration.raw)) reply.headers['Content-Security-Policy'] ??= PAGE_SECURITY_POLICY;
    if (ofConsole !== null) return this.#answerConsole(exchange, reply);
    this.#sendTo(exchange, reply);
    return undefined;
  }

  async #answerConsole(exchange: Exchange, reply: Reply): Promise<void> {
    const { declaration } = exchange.endpoint;
    await this.#endFormerSession(declaration, exchange.call, reply);
    this.#sendTo(exchange, withCookie(reply, declaration, this.#kernel.clock.now()));
  }

  #sendTo({ response, logged: { request_id } }: Exchange, reply: Reply): void {
    this.#send(response, reply, request_id, (error) => {
      // Neither a slow client nor a revoked caller is a failure of the service.
      if (isRefusal(error)) return;
      const level = error instanceof SlowReader ? 'warn' : 'error';
      this.#kernel.log[level]({ err: error, request_id }, 'a response was cut off');
    });
  }

  #certificateOf(request: IncomingMessage): Call['certificate'] {
    return clientCertificate(request, this.#trusted, this.#kernel.config.clientCertHeader);
  }

  /** A known caller is counted, and gets the headers about their limit, also where there is no endpoint. Anybody else gets the plain answer. */
  async #withoutEndpoint(
    { refusal, unrouted }: Extract<Found, { endpoint: null }>,
    request: IncomingMessage,
    { request_id: requestId, method, address }: LoggedRequest,
  ): Promise<Reply> {
    const { headers, url = '/' } = request;
    if (unrouted === undefined || !hasCredential(headers)) return refusal(requestId);
    const certificate = this.#certificateOf(request);
    const call: Call = { requestId, method, url, headers, params: {}, body: undefined, address, certificate };
    const reply = await this.#pipeline.answer(unroutedEndpoint(unrouted), call, null);
    return reply.status === 401 || reply.status === 403 ? refusal(requestId) : reply;
  }

  /** A sign-in with a browser that has a session ends that session, as a logout does: only a thief could use it afterwards. */
  async #endFormerSession({ session, credentials }: EndpointDeclaration, call: Call, { status }: Reply): Promise<void> {
    const former = call.session ?? null;
    if (session !== 'begins' || credentials !== 'public' || former === null || status >= 300) return;
    if (this.#logout === undefined) return;
    const { method, path } = this.#logout.declaration;
    const { address, certificate } = call;
    const requestId = newId('req');
    const headers = { authorization: `Bearer ${former}` };
    const ending = { requestId, method, url: path, headers, params: {}, body: undefined };
    const ended = await this.#pipeline.answer(this.#logout, { ...ending, address, certificate }, null);
    // A session that was over already is refused with 401.
    if (ended.status >= 300 && ended.status !== 401)
      this.#kernel.log.warn({ request_id: requestId }, 'the former session of a browser did not end');
  }

  /** What was begun ends by itself, and commits nothing. */
  #tooLate({ request_id, route }: LoggedRequest, error: CofferError, format?: WireFormat): Reply {
    this.#kernel.log.warn({ request_id, route, what_to_do: TOO_LATE }, 'a request took too long');
    return errorReply(error, request_id, { 'Retry-After': String(error.retryAfterSeconds) }, { format });
  }

  #send(response: ServerResponse, reply: Reply, requestId: string, onFailure?: (error: unknown) => void): void {
    reply.headers['X-Request-Id'] = requestId;
    // A client that keeps the connection would send its next request to a process that ends.
    if (this.#kernel.shutdown.signal.aborted) reply.headers['Connection'] = 'close';
    writeReply(response, reply, this.#common, onFailure);
  }
}

function endOf(trace: Trace, { method, route, request_id }: LoggedRequest, status: number): readonly Span[] {
  const attributes = {
    'http.request.method': method,
    'http.route': route ?? '',
    'http.response.status_code': status,
    'coffer.request_id': request_id,
  };
  return trace.end(`${method} ${route}`, attributes, status >= 500);
}

/** Made only for requests that wait for something outside the service. */
function departureOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const leave = () => controller.abort();
  if (response.destroyed) leave();
  else response.once('close', leave);
  return controller.signal;
}

function portOf(listener: NetServer): number | null {
  return (listener.address() as AddressInfo | null)?.port ?? null;
}

async function listenForTls({ config, log }: Kernel, listener: NetServer | null): Promise<number | null> {
  if (listener === null || config.tlsPort === null) return null;
  const { port, isChosen } = config.tlsPort;
  try {
    listener.listen({ host: config.host, port });
    await once(listener, 'listening');
    return portOf(listener);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EADDRINUSE' || isChosen) throw tlsPortError(error, port);
    // The port was not configured explicitly: an installation from before this port existed must keep running.
    log.warn({ port }, 'the default port for TLS is in use, so there is no TLS listener: set CV_TLS_PORT');
    return null;
  }
}

async function closed(listener: NetServer | null): Promise<void> {
  if (listener?.listening !== true) return;
  await new Promise((resolve) => listener.close(resolve));
}

const NODE_OPTIONS = {
  maxHeaderSize: HEADER_BYTES_MAX,
  headersTimeout: HEADERS_TIMEOUT_MS,
  // How often the timeouts are checked. With the default, a slow client would stay half a minute longer.
  connectionsCheckingInterval: SECOND_MS,
  // A joined header that was sent twice matches no valid form. By default Node would silently drop the second one.
  joinDuplicateHeaders: true,
  // We check it ourselves, so that the error looks like every other.
  requireHostHeader: false,
};

function createMainListener(options: ServerOptions, identity: CurrentIdentity | null): Server | SecureServer {
  if (identity === null) return createServer(options);
  return createSecureServer({ ...options, ...identity.options, handshakeTimeout: HANDSHAKE_TIMEOUT_MS });
}

const UNKNOWN_EXPECTATION = new CofferError(
  'INVALID_REQUEST',
  'The only supported expectation is "100-continue": change or remove the Expect header.',
);
const TOO_LATE =
  'The database, the disk or a service that the request needs did not respond within CV_REQUEST_TIMEOUT_SECONDS: look at cv_database_wait_seconds, at cv_audit_write_duration_seconds and at their load.';
const FAILED = new CofferError('INTERNAL_ERROR', 'The service failed. Give the request id to its operator.');
