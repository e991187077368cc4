import type { Agent as HttpAgent, IncomingMessage } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import type { Transport, TransportRequest, TransportResponse } from '../transport.ts';

export interface NodeTransportOptions {
  /** The CA certificates to trust instead of those of the system, in PEM. */
  ca?: string;
  /** The client certificate to show and its key, in PEM. Called again for each new connection. */
  identity?: () => { cert: string; key: string };
  /** The socket of `coffer agent run`, which adds the credentials; the address of the service then only gives the path. */
  socketPath?: string;
  /** How many bytes an answer may have: 64 MiB unless given. */
  bytesMax?: number;
  /** Whether connections stay open for the next request: true unless given. */
  keepAlive?: boolean;
}

const BYTES_MAX = 64 * 1024 * 1024;
/** Loaded with the first request: a command that sends none starts sooner without them. */
const http = () => process.getBuiltinModule('node:http');
const https = () => process.getBuiltinModule('node:https');
/** Nothing but a program that means the socket sends it: a page or a proxy that was talked into calling it does not. */
export const SOCKET_HEADER = 'x-coffer-agent';

/** Sends by Node's own HTTP client, which starts faster than `fetch` and can show a client certificate. */
export function nodeTransport(options: NodeTransportOptions = {}): Transport {
  const { ca, identity, socketPath, bytesMax = BYTES_MAX, keepAlive = true } = options;
  let plain: HttpAgent | null = null;
  let secure: { agent: HttpsAgent; cert: string | null } | null = null;
  const agentFor = (url: string): HttpAgent => {
    if (!url.startsWith('https:')) {
      plain ??= new (http().Agent)({ keepAlive });
      return plain;
    }
    const { cert, key } = identity?.() ?? { cert: null, key: null };
    if (secure === null || secure.cert !== cert) {
      // Connections that showed the former certificate end with what they are doing.
      secure?.agent.destroy();
      const shown = cert === null ? {} : { cert, key };
      secure = {
        agent: new (https().Agent)({ keepAlive, minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }), ...shown }),
        cert,
      };
    }
    return secure.agent;
  };
  return (request) =>
    socketPath === undefined
      ? send(request, { agent: agentFor(request.url) }, bytesMax)
      : send({ ...request, headers: { ...request.headers, [SOCKET_HEADER]: '1' } }, { socketPath }, bytesMax);
}

function send(
  { method, url, headers, body, signal }: TransportRequest,
  route: { agent: HttpAgent } | { socketPath: string },
  bytesMax: number,
): Promise<TransportResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<TransportResponse>();
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const request = (url.startsWith('https:') ? https() : http()).request(url, {
    method,
    ...route,
    signal,
    headers: { ...headers, ...length },
  });
  request.once('error', reject);
  request.once('response', (response: IncomingMessage) => {
    const chunks: Buffer[] = [];
    let total = 0;
    response.on('data', (chunk: Buffer) => {
      total += chunk.length;
      if (total > bytesMax) request.destroy(new Error('the answer is too large'));
      else chunks.push(chunk);
    });
    response.once('error', reject);
    response.once('close', () => {
      // After the end this has no effect any more.
      reject(new Error('the answer was cut'));
    });
    response.once('end', () => {
      if (!response.complete) return;
      const text = Buffer.concat(chunks).toString('utf8');
      resolve({
        status: response.statusCode ?? 0,
        headers: { get: (name) => headerOf(response, name) },
        text: async () => text,
      });
    });
  });
  request.end(body);
  return promise;
}

function headerOf(response: IncomingMessage, name: string): string | null {
  const value = response.headers[name.toLowerCase()];
  return Array.isArray(value) ? value.join(', ') : (value ?? null);
}
