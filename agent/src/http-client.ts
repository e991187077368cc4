import { readFileSync } from 'node:fs';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { exchange, type WholeAnswer } from '../../client/src/node/exchange.ts';

export type Answer = WholeAnswer;

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

  async call({ method, path, headers = {}, body, signal, bytesMax = BYTES_MAX }: Call): Promise<Answer> {
    const url = new URL(this.#pathOf(path), this.#base).href;
    const route = { agent: this.#agentNow(this.#base.protocol === 'https:') };
    const signals = AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs)]);
    try {
      return await exchange({ method, url, headers, body, signal: signals, route, bytesMax });
    } catch (error) {
      const { code, name } = error as Error & { code?: string };
      throw new NoAnswerError(`no answer (${code ?? name})`, { cause: error });
    }
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
