/** A key for DPoP proofs (RFC 9449). In a browser it can be one that never leaves it. */
export interface DpopKey {
  /** ECDSA on P-256. */
  privateKey: CryptoKey;
  /** The public key as a JWK; other members than `kty`, `crv`, `x` and `y` are not sent. */
  publicJwk: PublicJwk;
}

export interface PublicJwk {
  kty?: string;
  crv?: string;
  x?: string;
  y?: string;
}

/** A new key. Its thumbprint is enrolled at a connection or a token as `dpop_jkt`. */
export async function generateDpopKey(options: { extractable?: boolean } = {}): Promise<DpopKey> {
  const { publicKey, privateKey } = await crypto.subtle.generateKey(
    { name: 'ECDSA', namedCurve: 'P-256' },
    options.extractable ?? false,
    ['sign', 'verify'],
  );
  return { privateKey, publicJwk: await crypto.subtle.exportKey('jwk', publicKey) };
}

/** The RFC 7638 thumbprint: what `dpop_jkt` wants. */
export async function dpopThumbprint({ publicJwk: { crv, kty, x, y } }: DpopKey): Promise<string> {
  return base64url(await sha256(JSON.stringify({ crv, kty, x, y })));
}

/** Makes one proof for each request: a proof is good for one use. */
export class DpopProver {
  readonly #key: DpopKey;
  #nonce: string | null = null;

  constructor(key: DpopKey) {
    this.#key = key;
  }

  /** Stores the nonce that the service demands. Returns whether it is a new one, so that a repetition makes sense. */
  noted(nonce: string | null): boolean {
    const isNew = nonce !== null && nonce !== this.#nonce;
    if (isNew) this.#nonce = nonce;
    return isNew;
  }

  async proof(request: { method: string; url: string }, token: string | null): Promise<string> {
    const { kty, crv, x, y } = this.#key.publicJwk;
    const header = { typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } };
    const claims = {
      jti: crypto.randomUUID(),
      htm: request.method,
      htu: request.url.replace(/[?#].*$/s, ''),
      iat: Math.floor(Date.now() / 1000),
      ...(token !== null && { ath: base64url(await sha256(token)) }),
      ...(this.#nonce !== null && { nonce: this.#nonce }),
    };
    const signed = `${encoded(header)}.${encoded(claims)}`;
    const signature = await crypto.subtle.sign(
      { name: 'ECDSA', hash: 'SHA-256' },
      this.#key.privateKey,
      new TextEncoder().encode(signed),
    );
    return `${signed}.${base64url(new Uint8Array(signature))}`;
  }
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}

function encoded(value: unknown): string {
  return base64url(new TextEncoder().encode(JSON.stringify(value)));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
