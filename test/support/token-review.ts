import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { errors, jwtVerify } from 'jose';
import { type IssuerKey, json, newIssuerKey, signed } from './external-issuer.ts';
import { LOCALHOST_CERTIFICATE, LOCALHOST_KEY, TEST_CA } from './test-keys.ts';

type Status = Record<string, unknown>;

/**
 * The part of a Kubernetes API server that reviews tokens, over TLS with an authority of its own. It verifies the tokens that it made, asks
 * its callers for a token too, and answers with the audiences that both sides name.
 */
export class TokenReviewServer {
  readonly url: string;
  readonly caPem = TEST_CA;
  readonly close: () => void;
  /** The requests, by bearer and token. */
  readonly requests: { bearer: string; token: string; audiences: unknown }[] = [];
  /** Changes what it says. */
  alter: ((status: Status) => Status) | null = null;
  /** Answers instead. */
  instead: ((request: IncomingMessage, response: ServerResponse, body: string) => void) | null = null;
  readonly #key: IssuerKey;

  private constructor(url: string, key: IssuerKey, close: () => void) {
    this.url = url;
    this.#key = key;
    this.close = close;
  }

  static async start(): Promise<TokenReviewServer> {
    const server = createServer({ cert: LOCALHOST_CERTIFICATE, key: LOCALHOST_KEY }, (request, response) =>
      review.#answer(request, response),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const close = () => {
      server.closeAllConnections();
      server.close();
    };
    const { port } = server.address() as AddressInfo;
    const key = await newIssuerKey('cluster', 'RS256');
    const review: TokenReviewServer = new TokenReviewServer(`https://localhost:${port}`, key, close);
    return review;
  }

  token(audience: string | string[], namespace: string, name: string, change: Record<string, unknown> = {}) {
    const now = Math.floor(Date.now() / 1000);
    const sub = `system:serviceaccount:${namespace}:${name}`;
    return signed(this.#key, { iss: this.url, aud: audience, sub, iat: now, nbf: now, exp: now + 3600, ...change });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const piece of request) body += piece;
    if (this.instead !== null) this.instead(request, response, body);
    else if (request.method === 'POST' && request.url === '/apis/authentication.k8s.io/v1/tokenreviews') {
      await this.#review(request, response, body);
    } else json(response, { kind: 'Status', code: 404 }, 404);
  }

  async #review(request: IncomingMessage, response: ServerResponse, body: string): Promise<void> {
    const bearer = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    const { spec } = JSON.parse(body) as { spec: { token: string; audiences: string[] } };
    this.requests.push({ bearer, token: spec.token, audiences: spec.audiences });
    // A requester must show a token for the API server itself.
    if ((await this.#verified(bearer, [this.url])) === null) {
      json(response, { kind: 'Status', code: 401 }, 401);
      return;
    }
    const verified = await this.#verified(spec.token, spec.audiences);
    const status: Status =
      verified === null
        ? { authenticated: false, error: 'invalid bearer token' }
        : { authenticated: true, user: { username: verified.sub }, audiences: verified.audiences };
    json(
      response,
      { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', spec, status: this.alter?.(status) ?? status },
      201,
    );
  }

  async #verified(token: string, audiences: string[]): Promise<{ sub: string; audiences: string[] } | null> {
    try {
      const { payload } = await jwtVerify(token, this.#key.jwk, { issuer: this.url, algorithms: ['RS256'] });
      const shared = audiences.filter((audience) => [payload.aud ?? []].flat().includes(audience));
      return shared.length === 0 ? null : { sub: String(payload.sub), audiences: shared };
    } catch (error) {
      if (error instanceof errors.JOSEError) return null;
      throw error;
    }
  }
}
