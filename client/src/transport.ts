/** One HTTP request as the client sends it. The body is whole, because it may have to be sent again. */
export interface TransportRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
  signal: AbortSignal;
  /** The client certificate that belongs to the token. A transport that cannot show one sends the request without. */
  identity?: ClientIdentity;
}

/** A client certificate and its key, in PEM. */
export interface ClientIdentity {
  cert: string;
  key: string;
}

/** The part of a `Response` that the client reads. */
export interface TransportResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/**
 * Sends one request and follows no redirect. It rejects when there is no whole answer. `@coffer/client/node` has one that can show a client
 * certificate and trust a CA of your own.
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

/** Sends by the `fetch` of the runtime. */
export function fetchTransport(fetch: typeof globalThis.fetch = globalThis.fetch): Transport {
  return async ({ url, method, headers, body, signal }) =>
    fetch(url, {
      method,
      headers,
      signal,
      redirect: 'manual',
      // Nothing of a browser goes along: no cookies, and answers with values are not cached.
      credentials: 'omit',
      cache: 'no-store',
      ...(body !== undefined && { body }),
    });
}
