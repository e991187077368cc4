import { constants, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Logger } from 'pino';
import { SECOND_MS } from '../base/clock.ts';

/** How often the source is checked for a newer certificate. */
const LOOKED_AT_MS = 5 * SECOND_MS;

/** Forward secrecy and authenticated encryption only; the first three are those of TLS 1.3. */
const CIPHERS = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

/** A certificate with its chain and its key, in PEM. */
export interface TlsIdentity {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

export interface TlsIdentitySource {
  /** The identity to use from now on, or null if it has not changed since the last call. */
  next(): Promise<TlsIdentity | null>;
}

/** The TLS options for a certificate. They are the same for every listener and are set again with each new certificate. */
export function contextOptions({ cert, key }: TlsIdentity): SecureContextOptions {
  return {
    cert,
    key,
    // No authority is trusted in the handshake, because the trusted ones depend on the connection that the client claims to be.
    ca: [],
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
    honorCipherOrder: true,
    // A resumed session would lack the client's certificate chain, and renegotiation could change the certificate.
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
  };
}

interface Shows {
  setSecureContext(options: SecureContextOptions): void;
}

/** The TLS identity of the listeners, updated while they run. If a new one does not work, that is logged and the previous one stays in use. */
export class CurrentIdentity {
  readonly #source: TlsIdentitySource;
  readonly #log: Logger;
  readonly #listeners: Shows[] = [];
  readonly #timer: NodeJS.Timeout;
  #current: TlsIdentity;
  #looking: Promise<void> = Promise.resolve();
  /** The last failure, so that it is logged once and not at every check. */
  #failure = '';

  static async open(source: TlsIdentitySource, log: Logger): Promise<CurrentIdentity> {
    const first = await source.next();
    if (first === null) throw new Error('there is no TLS certificate');
    createSecureContext(contextOptions(first));
    return new CurrentIdentity(source, first, log);
  }

  private constructor(source: TlsIdentitySource, first: TlsIdentity, log: Logger) {
    this.#source = source;
    this.#current = first;
    this.#log = log;
    this.#timer = setInterval(() => this.look(), LOOKED_AT_MS);
    this.#timer.unref();
  }

  /** When the certificate that is presented expires. */
  get expiresAt(): number {
    return new X509Certificate(this.#current.cert).validToDate.getTime();
  }

  get options(): SecureContextOptions {
    return contextOptions(this.#current);
  }

  /** From now on the listener uses the newest identity. Open connections keep the one they began with. */
  keep(listener: Shows): void {
    this.#listeners.push(listener);
  }

  /** Looks for a newer certificate at once. */
  look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look());
    return this.#looking;
  }

  async #look(): Promise<void> {
    try {
      const next = await this.#source.next();
      if (next === null) return;
      this.#failure = '';
      // Tested first without the listeners, which could be left with half of a broken identity.
      createSecureContext(contextOptions(next));
      this.#current = next;
      for (const listener of this.#listeners) listener.setSecureContext(contextOptions(next));
      this.#log.info('a new TLS certificate is in use');
    } catch (error) {
      const code = codeOf(error);
      if (code === this.#failure) return;
      this.#failure = code;
      this.#log.warn({ code }, 'the new TLS certificate cannot be used; the old one stays in use');
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }
}

/** Only the error code is logged, because a library's message about an unreadable key may quote it. */
function codeOf(error: unknown): string {
  const { code, name } = error as { code?: string; name?: string };
  return code ?? name ?? 'unknown';
}

/** Loads the identity from two files whenever either changes. Until both are replaced they do not match, which only logs a warning. */
export class IdentityFiles implements TlsIdentitySource {
  readonly #certFile: string;
  readonly #keyFile: string;
  #seen = '';

  constructor({ certFile, keyFile }: { certFile: string; keyFile: string }) {
    this.#certFile = certFile;
    this.#keyFile = keyFile;
  }

  async next(): Promise<TlsIdentity | null> {
    const seen = `${await markOf(this.#certFile)} ${await markOf(this.#keyFile)}`;
    if (seen === this.#seen) return null;
    const [cert, key] = await Promise.all([readFile(this.#certFile), readFile(this.#keyFile)]);
    this.#seen = seen;
    return { cert, key };
  }
}

async function markOf(file: string): Promise<string> {
  const { ino, size, mtimeMs } = await stat(file);
  return `${ino}:${size}:${mtimeMs}`;
}
