import { constants } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Logger } from 'pino';
import { SECOND_MS } from '../clock.ts';

/** How often it is asked whether there is a newer certificate. */
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

/** A certificate with its chain, and its key, in PEM. */
export interface TlsIdentity {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

export interface TlsIdentitySource {
  /** What to show from now on, or null if that is still what it answered last. */
  next(): Promise<TlsIdentity | null>;
}

/** What a server does with a certificate; the same for every listener, and given anew with each new certificate. */
export function contextOptions({ cert, key }: TlsIdentity): SecureContextOptions {
  return {
    cert,
    key,
    // None is trusted in the handshake: who is trusted depends on the connection that is claimed.
    ca: [],
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
    honorCipherOrder: true,
    // A resumed session would come without the chain its client sent, and a renegotiated one with another certificate.
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
  };
}

interface Shows {
  setSecureContext(options: SecureContextOptions): void;
}

/** What the listeners show, kept up to date while they run. What does not work is logged, and the one before it goes on. */
export class CurrentIdentity {
  readonly #source: TlsIdentitySource;
  readonly #log: Logger;
  readonly #listeners: Shows[] = [];
  readonly #timer: NodeJS.Timeout;
  #current: TlsIdentity;
  #looking: Promise<void> = Promise.resolve();
  /** Told once, not every time it is looked at. */
  #failure = '';

  static async open(source: TlsIdentitySource, log: Logger): Promise<CurrentIdentity> {
    const first = await source.next();
    if (first === null) throw new Error('there is no certificate for TLS');
    createSecureContext(contextOptions(first));
    return new CurrentIdentity(source, first, log);
  }

  private constructor(source: TlsIdentitySource, first: TlsIdentity, log: Logger) {
    this.#source = source;
    this.#current = first;
    this.#log = log;
    this.#timer = setInterval(() => {
      this.#looking = this.#look();
    }, LOOKED_AT_MS);
    this.#timer.unref();
  }

  get options(): SecureContextOptions {
    return contextOptions(this.#current);
  }

  /** From now on it shows whatever is newest. Connections that are open keep what they began with. */
  keep(listener: Shows): void {
    this.#listeners.push(listener);
  }

  async #look(): Promise<void> {
    try {
      const next = await this.#source.next();
      if (next === null) return;
      this.#failure = '';
      // Tried apart from the listeners, which would be left with half of it.
      createSecureContext(contextOptions(next));
      this.#current = next;
      for (const listener of this.#listeners) listener.setSecureContext(contextOptions(next));
      this.#log.info('a new certificate for TLS is in use');
    } catch (error) {
      const code = codeOf(error);
      if (code === this.#failure) return;
      this.#failure = code;
      this.#log.warn({ code }, 'the new certificate for TLS cannot be used; the old one goes on');
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }
}

/** Never more than the code: what a library says of a key it cannot read may quote it. */
function codeOf(error: unknown): string {
  const { code, name } = error as { code?: string; name?: string };
  return code ?? name ?? 'unknown';
}

/** From two files, which are read again when either changes. Until both are new they do not fit, which is no more than a warning. */
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
