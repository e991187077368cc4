import { createPublicKey } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

/** A key pair with the id it is published under. */
export interface IssuerKey {
  kid: string;
  alg: string;
  privateKey: CryptoKey;
  jwk: Record<string, unknown>;
}

export async function newIssuerKey(kid: string, alg = 'ES256'): Promise<IssuerKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

export function publicPem(key: IssuerKey): string {
  return String(createPublicKey({ key: key.jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' }));
}

type Answering = (request: IncomingMessage, response: ServerResponse) => void;

/** Publishes keys and a discovery document over real HTTP, and counts requests; tests replace what it says. */
export class OutsideIssuer {
  readonly url: string;
  readonly close: () => void;
  keys: Record<string, unknown>[] = [];
  /** Answers instead, by path. */
  readonly instead = new Map<string, Answering>();
  readonly requests: string[] = [];

  private constructor(url: string, close: () => void) {
    this.url = url;
    this.close = close;
  }

  static async start(): Promise<OutsideIssuer> {
    const server = createServer((request, response) => issuer.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const close = () => {
      server.closeAllConnections();
      server.close();
    };
    const issuer: OutsideIssuer = new OutsideIssuer(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      close,
    );
    return issuer;
  }

  get jwksUrl(): string {
    return `${this.url}/keys`;
  }

  timesRequested(path: string): number {
    return this.requests.filter((url) => url === path).length;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    this.requests.push(path);
    const instead = this.instead.get(path);
    if (instead !== undefined) instead(request, response);
    else if (path === '/keys') json(response, { keys: this.keys });
    else if (path === '/.well-known/openid-configuration') json(response, { issuer: this.url, jwks_uri: this.jwksUrl });
    else response.writeHead(404).end();
  }
}

export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** Signs exactly these claims and nothing more. */
export function signed(key: IssuerKey, claims: JWTPayload, header: Record<string, unknown> = {}): Promise<string> {
  const protectedHeader = { alg: key.alg, kid: key.kid, typ: 'JWT', ...header };
  for (const name of Object.keys(protectedHeader)) {
    if (protectedHeader[name as keyof typeof protectedHeader] === undefined) {
      delete protectedHeader[name as keyof typeof protectedHeader];
    }
  }
  return new SignJWT(claims).setProtectedHeader(protectedHeader).sign(key.privateKey);
}

/** A token put together from texts, for what no library would make. */
export function assembled(header: unknown, claims: unknown, signature: string | Uint8Array = ''): string {
  const part = (value: unknown) =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(claims)}.${Buffer.from(signature).toString('base64url')}`;
}
