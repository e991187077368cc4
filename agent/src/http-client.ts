import { readFileSync } from 'node:fs';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

export interface Call {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  signal: AbortSignal;
  bytesMax?: number;
}

/** No answer, or one that is not whole: nothing is known about what the other side did. */
export class NoAnswerError extends Error {}

const BYTES_MAX = 64 * 1024;
const TIMEOUT_MS = 30_000;
const POOL = { keepAlive: true, maxSockets: 8, maxFreeSockets: 2, timeout: 60_000 };

/** Calls one server. Redirects are not followed, since the token would go with them. */
export class HttpClient {
  readonly #base: URL;
  readonly #caFile: string | null;
  readonly #timeoutMs: number;
  #pool: { agent: HttpAgent; ca: string | null } | null = null;

  constructor(base: URL, caFile: string | null, timeoutMs: number = TIMEOUT_MS) {
    this.#base = base;
    this.#caFile = caFile;
    this.#timeoutMs = timeoutMs;
  }

  call({ method, path, headers = {}, body, signal, bytesMax = BYTES_MAX }: Call): Promise<Answer> {
    const isTls = this.#base.protocol === 'https:';
    const agent = this.#agentNow(isTls);
    const signals = AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs)]);
    const answered = Promise.withResolvers<Answer>();
    const fail = (error: Error & { code?: string }) =>
      answered.reject(new NoAnswerError(`no answer (${error.code ?? error.name})`, { cause: error }));
    const request = (isTls ? httpsRequest : httpRequest)(new URL(this.#pathOf(path), this.#base), {
      method,
      agent,
      signal: signals,
      headers: { ...headers, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) },
    });
    request.once('error', fail);
    request.once('response', (response) => {
      const chunks: Buffer[] = [];
      let total = 0;
      response.on('data', (chunk: Buffer) => {
        total += chunk.length;
        if (total > bytesMax) request.destroy(new Error('the answer is too large'));
        else chunks.push(chunk);
      });
      response.once('error', fail);
      response.once('end', () => {
        const isWhole = response.complete;
        if (!isWhole) return fail(new Error('the answer was cut'));
        answered.resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
      });
    });
    request.end(body);
    return answered.promise;
  }

  /** Connections are used again until the CA file changes; then none that the old one vouched for is. */
  #agentNow(isTls: boolean): HttpAgent {
    const ca = isTls && this.#caFile !== null ? readFileSync(this.#caFile, 'utf8') : null;
    if (this.#pool === null || this.#pool.ca !== ca) {
      this.#pool?.agent.destroy();
      const tls = { minVersion: 'TLSv1.2' as const, ...(ca !== null && { ca }) };
      const agent = isTls ? new HttpsAgent({ ...POOL, ...tls }) : new HttpAgent(POOL);
      this.#pool = { agent, ca };
    }
    return this.#pool.agent;
  }

  /** The address may have a path of its own, before a proxy. */
  #pathOf(path: string): string {
    return `${this.#base.pathname.replace(/\/$/, '')}${path}`;
  }
}
