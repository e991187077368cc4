import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { AddressInfo, Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Call } from '../call.ts';
import { SECOND_MS } from '../clock.ts';
import { CofferError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Kernel } from '../kernel.ts';
import { errorReply, isRefusal, isStream, type Pipeline, type ReadyEndpoint, type Reply } from '../pipeline.ts';
import { StartError } from '../storage/data-folder.ts';
import { clientAddress, trustProxies } from './address.ts';
import { SlowReader, SMALL_BYTES, writeAnswer } from './answer-writer.ts';
import { ConnectionLimit } from './connection-limit.ts';
import { hostProblem, JSON_CONTENT_TYPE, PAGE_SECURITY_POLICY, securityHeaders } from './headers.ts';
import { clientCertificate } from './peer-certificate.ts';
import { bodyReading, RequestBody } from './request-body.ts';
import { METHODS, match, type Route, routesOf } from './routes.ts';
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
/** Longer than the longest secret path (1,024 bytes), each byte of which may be percent-encoded as three. */
const PARAMETER_LENGTH_MAX = 4096;

/** No endpoint is declared for it. All methods that are not routed are handled like it. */
const UNDECLARED_METHOD = 'TRACE';
const ROUTED_METHODS: ReadonlySet<string> = new Set([...METHODS, 'HEAD', 'OPTIONS', UNDECLARED_METHOD]);

export interface HttpServer {
  listen(): Promise<{ port: number; tlsPort: number | null }>;
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
  const refuseUnread = (error: ParserError, socket: Duplex) => refuseConnection(error, socket, common);
  const fastify = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    // Requests on open connections during the shutdown are answered normally, because the framework's own refusal has none of our headers.
    return503OnClosing: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    routerOptions: {
      maxParamLength: PARAMETER_LENGTH_MAX,
      // The pipeline parses queries strictly, once the endpoint is known.
      querystringParser: () => ({}),
    },
    frameworkErrors: (error, request, reply) => {
      refuse(request, reply, refusalOf(error, requestIdOf(request)));
    },
    clientErrorHandler: (error, socket) => refuseUnread(error as Error, socket),
    ...mainOptions(config.tls === null ? null : identity),
  }) as unknown as FastifyInstance;
  const listeners: (Server | SecureServer)[] = [fastify.server];
  if (config.tls !== null) identity?.keep(fastify.server as unknown as SecureServer);
  let tlsListener: SecureServer | null = null;
  if (config.tlsPort !== null && identity !== null) {
    const options = { ...NODE_OPTIONS, requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS };
    tlsListener = createTlsListener(identity, options, (request, response) => fastify.routing(request, response));
    tlsListener.on('clientError', refuseUnread);
    listeners.push(tlsListener);
  }
  const trusted = trustProxies(config.trustedProxies);
  const connections = new ConnectionLimit({
    perAddress: config.connectionsPerAddress,
    trusted,
    onRefused: (reason) => kernel.metrics.connectionsRefused.labels(reason).inc(),
  });
  for (const listener of listeners) {
    connections.guard(listener);
    listener.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      const error = new CofferError('INVALID_REQUEST', 'This service meets no expectation but "100-continue".');
      const requestId = newId('req');
      write(response, errorReply(error, requestId, { 'X-Request-Id': requestId, Connection: 'close' }), common);
      request.destroy();
    });
    // The client gets 100 Continue only when its body is to be read.
    listener.on('checkContinue', (request: IncomingMessage, response: ServerResponse) =>
      fastify.routing(request, response),
    );
  }
  const cutters = listeners.map(connectionCutter);
  const reading = bodyReading(kernel);
  const refuse = (request: FastifyRequest, reply: FastifyReply, refusal: Reply) => {
    refusal.headers['X-Request-Id'] = requestIdOf(request);
    send(reply, refusal, common);
  };
  const refuseHost = (request: FastifyRequest, reply: FastifyReply): boolean => {
    const problem = hostProblem(request.raw);
    if (problem !== null) {
      refuse(request, reply, errorReply(new CofferError('INVALID_REQUEST', problem), requestIdOf(request)));
    }
    return problem !== null;
  };

  /** Registering all thirty methods on every path would make startup a second slower, so all other methods are treated as this one. */
  const answerAsUndeclared = (request: FastifyRequest, reply: FastifyReply): void => {
    request.raw.method = UNDECLARED_METHOD;
    reply.hijack();
    fastify.routing(request.raw, reply.raw);
  };

  leaveBodiesUnread(fastify);
  fastify.setErrorHandler((error, request, reply) => {
    // Fastify itself refuses QUERY without a content type, before it looks for a route.
    if (!ROUTED_METHODS.has(request.method)) {
      answerAsUndeclared(request, reply);
      return;
    }
    if (!(error instanceof CofferError) && !isParserError(error)) {
      kernel.log.error({ err: error, request_id: requestIdOf(request) }, 'unexpected error outside the pipeline');
    }
    refuse(request, reply, refusalOf(error, requestIdOf(request)));
  });
  fastify.setNotFoundHandler((request, reply) => {
    if (refuseHost(request, reply)) return;
    if (!ROUTED_METHODS.has(request.method)) {
      answerAsUndeclared(request, reply);
      return;
    }
    const error = new CofferError('NOT_FOUND', 'There is no such route. The API is described at /docs.');
    refuse(request, reply, errorReply(error, requestIdOf(request)));
  });

  const answer = async (route: Route, request: FastifyRequest, reply: FastifyReply) => {
    if (refuseHost(request, reply)) return;
    const { method } = request;
    const found = match(route, method === 'HEAD' ? 'GET' : method, request.params as Record<string, string>);
    if (found.endpoint === null) {
      refuse(request, reply, withoutEndpoint(method, found.allow, requestIdOf(request)));
      return;
    }
    const { endpoint, params } = found;
    const requestId = requestIdOf(request);
    const started = performance.now();
    const call: Call = {
      requestId,
      method,
      url: request.raw.url ?? '/',
      headers: request.headers,
      params,
      body: undefined,
      address: clientAddress(request.raw.socket.remoteAddress ?? '', request.headers['x-forwarded-for'], trusted),
      certificate: clientCertificate(request.raw, trusted, config.clientCertHeader),
    };
    const body = hasBody(request.raw) ? new RequestBody(request.raw, reply.raw, reading) : null;
    const answering = pipeline.answer(endpoint, call, body);
    const result = await (body === null ? answering : answering.finally(() => body.release()));
    observe(kernel, endpoint, result.status, started + (body?.waitedMs ?? 0));
    if (endpoint.declaration.raw.startsWith('text/html'))
      result.headers['Content-Security-Policy'] = PAGE_SECURITY_POLICY;
    result.headers['X-Request-Id'] = requestId;
    send(reply, result, common, (error) => {
      // Neither a slow client nor a revoked caller is a failure of the service.
      if (isRefusal(error)) return;
      const level = error instanceof SlowReader ? 'warn' : 'error';
      kernel.log[level]({ err: error, request_id: requestId }, 'an answer was cut off');
    });
  };

  for (const route of routesOf(endpoints)) {
    fastify.route({
      method: [...ROUTED_METHODS],
      url: route.url,
      // The handler must not return a promise: Fastify would wait for it, only to find that the response was already sent.
      handler: (request, reply) => {
        answer(route, request, reply).catch((error: unknown) => {
          if (!reply.sent) return reply.send(error);
          kernel.log.error({ err: error, request_id: requestIdOf(request) }, 'an answer could not be sent');
          reply.raw.destroy();
        });
      },
    });
  }
  return {
    async listen() {
      await fastify.listen({ host: config.host, port: config.port });
      try {
        return { port: portOf(fastify.server) ?? config.port, tlsPort: await listenForTls(kernel, tlsListener) };
      } catch (error) {
        await fastify.close();
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
      await Promise.all([fastify.close(), closed(tlsListener)]);
      await reading.json.close();
      clearInterval(sweep);
      clearTimeout(cutOff);
    },
  };
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
    log.warn({ port }, 'the usual port for TLS is in use, so there is no listener for it: set CV_TLS_PORT');
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
  return new StartError(`Port ${port}, which CV_TLS_PORT names, ${problem}: set another, or \`off\`.`);
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

function mainOptions(identity: CurrentIdentity | null) {
  if (identity === null) return { http: NODE_OPTIONS };
  return { https: { ...NODE_OPTIONS, ...identity.options, handshakeTimeout: HANDSHAKE_TIMEOUT_MS } };
}

const REQUEST_ID = Symbol('request id');

/** Generated by us and never taken from the caller: a chosen id could point to somebody else's request. */
function requestIdOf(request: FastifyRequest): string {
  const carrier = request.raw as unknown as Record<symbol, string | undefined>;
  carrier[REQUEST_ID] ??= newId('req');
  return carrier[REQUEST_ID] as string;
}

/** Fastify must not read bodies: the pipeline reads them once the caller is authenticated. */
function leaveBodiesUnread(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', (_request, _payload, done) => done(null));
}

/** Errors of the HTTP library itself. Its messages may quote the request; ours do not. */
function refusalOf(error: unknown, requestId: string): Reply {
  if (error instanceof CofferError) return errorReply(error, requestId);
  if (isParserError(error)) {
    return errorReply(new CofferError('INVALID_REQUEST', 'The request line or headers could not be read.'), requestId);
  }
  return errorReply(
    new CofferError('INTERNAL_ERROR', 'The service failed. Give the request id to whoever runs it.'),
    requestId,
  );
}

function isParserError(error: unknown): boolean {
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  return (code?.startsWith('FST_ERR_') ?? false) || (statusCode !== undefined && statusCode < 500);
}

/** The declared methods are public in the API reference, so the caller need not be authenticated. */
function withoutEndpoint(method: string, declared: readonly string[], requestId: string): Reply {
  if (declared.length === 0) return errorReply(new CofferError('NOT_FOUND', 'There is no such route.'), requestId);
  const Allow = [...declared, ...(declared.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
  if (method === 'OPTIONS') return { status: 204, headers: { Allow }, body: null };
  return errorReply(new CofferError('METHOD_NOT_ALLOWED', `Use ${declared.join(' or ')} here.`), requestId, { Allow });
}

/** Writes directly to Node's response, because Fastify would only cost time here. */
function send(
  reply: FastifyReply,
  result: Reply,
  more: Record<string, string>,
  onFailure: (error: unknown) => void = () => {},
): void {
  reply.hijack();
  write(reply.raw, result, more, onFailure);
}

function write(
  response: ServerResponse,
  { status, headers, body }: Reply,
  more: Record<string, string>,
  onFailure: (error: unknown) => void = () => {},
): void {
  const isCutShort = hasRestOfBody(response.req);
  if (isCutShort) headers['Connection'] = 'close';
  // Node writes a flat list without processing each name again.
  const flat: string[] = [];
  for (const name in headers) flat.push(name, headers[name] as string);
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
function refuseConnection(error: ParserError, socket: Duplex, common: Readonly<Record<string, string>>): void {
  // Before the TLS handshake is complete, a response could never be sent.
  const isShakingHands = (socket as Duplex & { secureConnecting?: boolean }).secureConnecting === true;
  if (error.code === 'ECONNRESET' || !socket.writable || isShakingHands) {
    socket.destroy();
    return;
  }
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const reason =
    status === 431 ? 'The headers are too large.' : status === 408 ? 'The request took too long.' : 'This is not HTTP.';
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

function observe(kernel: Kernel, endpoint: ReadyEndpoint, status: number, started: number): void {
  kernel.metrics.observeRequest(endpoint.declaration.name, status, (performance.now() - started) / SECOND_MS);
}
