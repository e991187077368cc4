import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import type { AddressInfo, Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Span, Trace, withinTrace } from '../observability/trace.ts';
import type { ListeningPorts } from '../platform/addresses.ts';
import { SECOND_MS } from '../platform/clock.ts';
import { CofferError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Kernel } from '../platform/kernel.ts';
import { workerShares } from '../platform/worker-shares.ts';
import type { Call } from '../request/call.ts';
import { Deadline } from '../request/deadline.ts';
import type { EndpointDeclaration } from '../request/declaration.ts';
import type { Pipeline, ReadyEndpoint } from '../request/pipeline.ts';
import { errorReply, isPage, isRefusal, isStream, type Reply } from '../request/reply.ts';
import type { WireFormat } from '../request/wire-format.ts';
import { StartError } from '../storage/data-folder.ts';
import { clientAddress, trustProxies } from './address.ts';
import { SlowReader, SMALL_BYTES, writeAnswer } from './answer-writer.ts';
import { consoleTarget, sessionCookie, withCookie } from './browser-session.ts';
import { ConnectionLimit } from './connection-limit.ts';
import { JSON_CONTENT_TYPE, PAGE_SECURITY_POLICY, securityHeaders } from './headers.ts';
import { clientCertificate } from './peer-certificate.ts';
import { bodyReading, RequestBody } from './request-body.ts';
import { type LoggedRequest, RequestLog } from './request-log.ts';
import { find, methodOf, type RefusedEarly, routerOf } from './router.ts';
import type { CurrentIdentity } from './tls-identity.ts';
import { connectionCutter, createTlsListener, HANDSHAKE_TIMEOUT_MS } from './tls-listener.ts';
import { endAfterDraining, hasBody, hasRestOfBody } from './unread-body.ts';

/** Limits for the cost of a connection before anything is known about it. */
const HEADER_BYTES_MAX = 16 * 1024;
const HEADERS_TIMEOUT_MS = 10 * SECOND_MS;
const REQUEST_TIMEOUT_MS = 30 * SECOND_MS;
const KEEP_ALIVE_TIMEOUT_MS = 65 * SECOND_MS;
const CLOSE_SWEEP_MS = 50;
/** Clients that have not sent their request or read their response by then would delay the shutdown for everyone. */
const CLOSE_GRACE_MS = 10 * SECOND_MS;

export interface HttpServer {
  listen(): Promise<ListeningPorts>;
  close(): Promise<void>;
}

/**
 * The HTTP layer: parsing within limits, routing, and turning the replies of the pipeline into responses. `identity` is present if any listener
 * uses TLS.
 */
export function createHttpServer(
  kernel: Kernel,
  endpoints: readonly ReadyEndpoint[],
  pipeline: Pipeline,
  identity: CurrentIdentity | null,
): HttpServer {
  const { config } = kernel;
  const isHttps = config.tls !== null || config.baseUrl(config.port).startsWith('https:');
  const common = securityHeaders(isHttps);
  const countRefused = (reason: RefusedEarly) => kernel.metrics.refusedBeforeRouting.labels(reason).inc();
  const refuseUnread = (error: ParserError, socket: Duplex) => refuseConnection(error, socket, common, countRefused);
  const options = { ...NODE_OPTIONS, requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS };
  const main = createMainListener(options, config.tls === null ? null : identity);
  const listeners: (Server | SecureServer)[] = [main];
  if (config.tls !== null) identity?.keep(main as SecureServer);
  let tlsListener: SecureServer | null = null;
  if (config.tlsPort !== null && identity !== null) {
    tlsListener = createTlsListener(identity, options);
    listeners.push(tlsListener);
  }
  const trusted = trustProxies(config.trustedProxies);
  const shares = workerShares(config);
  const connections = new ConnectionLimit({
    perAddress: shares.connectionsPerAddress,
    total: shares.connectionsMax,
    descriptors: shares.descriptorsForClients,
    trusted,
    onRefused: (reason) => kernel.metrics.connectionsRefused.labels(reason).inc(),
    onChanged: (difference) => {
      kernel.metrics.connections += difference;
    },
  });
  for (const listener of listeners) {
    connections.guard(listener);
    listener.on('clientError', refuseUnread);
    listener.on('request', (request: IncomingMessage, response: ServerResponse) => serve(request, response));
    listener.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      const error = new CofferError(
        'INVALID_REQUEST',
        'The only supported expectation is "100-continue": change or remove the Expect header.',
      );
      const requestId = newId('req');
      countRefused('expectation');
      write(response, errorReply(error, requestId, { 'X-Request-Id': requestId, Connection: 'close' }), common);
      request.destroy();
    });
    // The client gets 100 Continue only when its body is to be read.
    listener.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => serve(request, response));
  }
  const cutters = listeners.map(connectionCutter);
  const reading = bodyReading(kernel);
  const router = routerOf(endpoints);
  const formats = [...new Set(endpoints.flatMap(({ declaration: { format } }) => format ?? []))];
  const requestLog = new RequestLog(config.requestLog, kernel.log);
  const send = (response: ServerResponse, reply: Reply, requestId: string, onFailure?: (error: unknown) => void) => {
    reply.headers['X-Request-Id'] = requestId;
    // A client that keeps the connection would send its next request to a process that ends.
    if (kernel.shutdown.signal.aborted) reply.headers['Connection'] = 'close';
    write(response, reply, common, onFailure);
  };

  /** What was begun ends by itself, and commits nothing. */
  const tooLate = ({ request_id, route }: LoggedRequest, error: CofferError, format?: WireFormat): Reply => {
    kernel.log.warn({ request_id, route, what_to_do: TOO_LATE }, 'a request took too long');
    return errorReply(error, request_id, { 'Retry-After': String(error.retryAfterSeconds) }, { format });
  };

  const logout = endpoints.find(({ declaration }) => declaration.session === 'ends');
  /** Whoever signs in with a browser that has a session ends that session, as a logout: nobody would have it any more, except a thief. */
  const endFormerSession = async ({ session, credentials }: EndpointDeclaration, call: Call, { status }: Reply) => {
    const former = call.session ?? null;
    if (session !== 'begins' || credentials !== 'public' || former === null || status >= 300) return;
    if (logout === undefined) return;
    const { method, path } = logout.declaration;
    const { address, certificate } = call;
    const requestId = newId('req');
    const ending = { requestId, method, url: path, headers: {}, session: former, params: {}, body: undefined };
    const ended = await pipeline.answer(logout, { ...ending, address, certificate }, null);
    // A session that was over already is refused with 401.
    if (ended.status >= 300 && ended.status !== 401)
      kernel.log.warn({ request_id: requestId }, 'the former session of a browser did not end');
  };

  const answer = async (request: IncomingMessage, response: ServerResponse, requestId: string) => {
    const { headers, url = '/' } = request;
    const ofConsole = config.isConsoleOn ? consoleTarget(url) : null;
    const found = find(router, formats, request, ofConsole);
    const logged: LoggedRequest = {
      request_id: requestId,
      method: methodOf(request),
      route: found.endpoint?.declaration.path ?? null,
      address: clientAddress(request.socket.remoteAddress ?? '', headers['x-forwarded-for'], trusted),
    };
    requestLog.arrived(logged, response);
    if (found.endpoint === null) {
      if (found.reason !== null) countRefused(found.reason);
      send(response, found.refusal(requestId), requestId);
      return;
    }
    const { endpoint, params } = found;
    const { declaration } = endpoint;
    const trace = kernel.traces === null ? null : Trace.begin(headers.traceparent as string | undefined);
    const deadline = declaration.bulk === true ? undefined : new Deadline(config.requestTimeoutMs);
    const started = performance.now();
    const call: Call = {
      requestId,
      method: logged.method,
      url: ofConsole ?? url,
      headers,
      ...(ofConsole !== null && { session: sessionCookie(headers) }),
      params,
      body: undefined,
      address: logged.address,
      certificate: clientCertificate(request, trusted, config.clientCertHeader),
      departure: () => departureOf(response),
      ...(deadline && { deadline }),
      ...(trace && { trace }),
    };
    const body = hasBody(request) ? new RequestBody(request, response, reading, declaration) : null;
    const act = () => {
      const answering = pipeline.answer(endpoint, call, body);
      return body === null ? answering : answering.finally(() => body.release());
    };
    const begin = trace === null ? act : () => withinTrace(trace, act);
    const late = (error: CofferError) => tooLate(logged, error, declaration.format);
    const result = await (deadline === undefined ? begin() : deadline.answer(begin, late));
    const durationMs = performance.now() - started - (body?.waitedMs ?? 0);
    kernel.metrics.observeRequest(declaration.name, result.status, durationMs / SECOND_MS);
    requestLog.answered(logged, result.status, durationMs);
    if (trace !== null) kernel.traces?.add(endOf(trace, logged, result.status));
    if (isPage(declaration.raw)) result.headers['Content-Security-Policy'] ??= PAGE_SECURITY_POLICY;
    if (ofConsole !== null) await endFormerSession(declaration, call, result);
    const sent = ofConsole === null ? result : withCookie(result, declaration, kernel.clock.now());
    send(response, sent, requestId, (error) => {
      // Neither a slow client nor a revoked caller is a failure of the service.
      if (isRefusal(error)) return;
      const level = error instanceof SlowReader ? 'warn' : 'error';
      kernel.log[level]({ err: error, request_id: requestId }, 'a response was cut off');
    });
  };

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    // Generated by us and never taken from the caller: a chosen id could point to somebody else's request.
    const requestId = newId('req');
    kernel.metrics.requestsInFlight++;
    answer(request, response, requestId)
      .catch((error: unknown) => {
        kernel.log.error({ err: error, request_id: requestId }, 'a response could not be sent');
        if (response.headersSent) response.destroy();
        else send(response, errorReply(FAILED, requestId), requestId);
      })
      .finally(() => {
        kernel.metrics.requestsInFlight--;
      });
  };
  return {
    async listen() {
      main.listen({ host: config.host, port: config.port });
      await once(main, 'listening');
      try {
        return { port: portOf(main) ?? config.port, tlsPort: await listenForTls(kernel, tlsListener) };
      } catch (error) {
        await closed(main);
        throw error;
      }
    },
    /**
     * Closes idle connections repeatedly, because a connection whose last response ends during the shutdown would otherwise stay open for its next
     * request.
     */
    async close() {
      const sweep = setInterval(() => {
        for (const listener of listeners) listener.closeIdleConnections();
      }, CLOSE_SWEEP_MS);
      const cutOff = setTimeout(() => {
        for (const cut of cutters) cut();
      }, CLOSE_GRACE_MS);
      await Promise.all([closed(main), closed(tlsListener)]);
      await reading.json.close();
      clearInterval(sweep);
      clearTimeout(cutOff);
    },
  };
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

function tlsPortError(error: unknown, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const problem = { EADDRINUSE: 'is in use', EACCES: 'may not be used by this user' }[code ?? ''];
  if (problem === undefined) return error;
  return new StartError(`Port ${port} (CV_TLS_PORT) ${problem}: set another port, or \`off\`.`);
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

const TOO_LATE =
  'The database, the disk or a service that the request needs did not respond within CV_REQUEST_TIMEOUT_SECONDS: look at cv_database_wait_seconds, at cv_audit_write_duration_seconds and at their load.';
const FAILED = new CofferError('INTERNAL_ERROR', 'The service failed. Give the request id to its operator.');

function write(
  response: ServerResponse,
  { status, headers, cookies = [], body }: Reply,
  more: Record<string, string>,
  onFailure: (error: unknown) => void = () => {},
): void {
  const isCutShort = hasRestOfBody(response.req);
  if (isCutShort) headers['Connection'] = 'close';
  // Node writes a flat list without processing each name again.
  const flat: string[] = [];
  for (const name in headers) flat.push(name, headers[name] as string);
  for (const cookie of cookies) flat.push('Set-Cookie', cookie);
  for (const name in more) if (headers[name] === undefined) flat.push(name, more[name] as string);
  if (body !== null) {
    if (!('Content-Type' in headers)) flat.push('Content-Type', JSON_CONTENT_TYPE);
    if (!isStream(body))
      flat.push('Content-Length', String(typeof body === 'string' ? Buffer.byteLength(body) : body.length));
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
  else response.end(body ?? undefined);
}

/** Node's error for bytes that are not HTTP, with those bytes. */
interface ParserError extends Error {
  code?: string;
  rawPacket?: Buffer;
}

/** Malformed HTTP has no request to respond to, only a socket. */
function refuseConnection(
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
