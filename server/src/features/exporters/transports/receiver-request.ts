import { gzipSync } from 'node:zlib';
import { type HttpClient, type OutgoingAnswer, OutgoingFailure } from '../../../kernel/outbound/http-client.ts';
import { NotDelivered } from './transport.ts';

const TIMEOUT_MS = 30_000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/** Requests to the endpoint of one exporter. */
export class ReceiverRequest {
  readonly #http: HttpClient;
  readonly #owner: string;
  readonly #endpoint: string;
  readonly #caPem: string | undefined;

  constructor(http: HttpClient, { owner, endpoint, caPem }: { owner: string; endpoint: string; caPem: string | null }) {
    this.#http = http;
    this.#owner = owner;
    this.#endpoint = endpoint;
    this.#caPem = caPem ?? undefined;
  }

  /** `path` replaces the path of the endpoint. */
  async post(request: {
    headers: Record<string, string>;
    body: string;
    path?: string;
    isCompressed?: boolean;
  }): Promise<OutgoingAnswer> {
    const { headers, body, path, isCompressed = false } = request;
    const url = path === undefined ? this.#endpoint : new URL(path, this.#endpoint).href;
    try {
      return await this.#http.send({
        owner: this.#owner,
        url,
        method: 'POST',
        headers: isCompressed ? { ...headers, 'content-encoding': 'gzip' } : headers,
        body: isCompressed ? gzipSync(body) : body,
        bodyBytesMax: ANSWER_BYTES_MAX,
        timeoutMs: TIMEOUT_MS,
        caPem: this.#caPem,
      });
    } catch (error) {
      if (error instanceof OutgoingFailure) throw new NotDelivered(error.message);
      throw error;
    }
  }
}
