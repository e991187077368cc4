import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { DAY_MS } from '../../kernel/base/clock.ts';
import { replaceDurably } from '../../kernel/crypto/root-key.ts';
import type { TlsIdentity, TlsIdentitySource } from '../../kernel/http/tls-identity.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Config } from '../../settings/config.ts';
import { type Authority, BACKDATED_MS } from './authorities.ts';
import type { Certificates } from './service.ts';
import * as x509 from './x509.ts';

export const ROOT_FILE = 'ca.pem';
const READABLE_BY_ALL = 0o644;
const SERVER_LIFE_MS = 30 * DAY_MS;
const SERVER_RENEWED_BEFORE_MS = 10 * DAY_MS;

/**
 * The service's own certificate for its TLS port, where the operator configured none. Each process creates one, with a key that is never stored.
 * Clients trust the root, which is written to a file for curl to use.
 */
export class OwnIdentity implements TlsIdentitySource {
  readonly #kernel: Pick<Kernel, 'clock' | 'config' | 'log'>;
  readonly #certificates: Certificates;
  #madeAt = Number.NEGATIVE_INFINITY;
  #renewedAt = Number.NEGATIVE_INFINITY;

  constructor(kernel: Pick<Kernel, 'clock' | 'config' | 'log'>, certificates: Certificates) {
    this.#kernel = kernel;
    this.#certificates = certificates;
  }

  async next(): Promise<TlsIdentity | null> {
    const { clock, config } = this.#kernel;
    const now = clock.now();
    // A certificate that was made while the clock was ahead is not valid yet, so it is made again.
    if (now < this.#renewedAt && now >= this.#madeAt) return null;
    const root = await this.#certificates.authorities.root();
    const identity = await issueServer(root, serverNames(config), now);
    this.#madeAt = now;
    this.#renewedAt = now + SERVER_LIFE_MS - SERVER_RENEWED_BEFORE_MS;
    await this.#writeRoot(join(config.dataDir, ROOT_FILE));
    return identity;
  }

  /** The file is a convenience: the root is served as well, so a folder that cannot be written must not prevent the start. */
  async #writeRoot(file: string): Promise<void> {
    const pem = await this.#certificates.rootPem();
    try {
      if (!isOwn(file, pem)) {
        this.#kernel.log.warn(
          { file },
          'the file contains no certificate of this installation and is not changed; move it away to have the root certificate written at the next start, or get it from /pki/root.pem',
        );
        return;
      }
      // Workers share the folder. An unchanged file is left alone, so that they do not all write it at once.
      if (!existsSync(file) || readFileSync(file, 'utf8') !== pem) replaceDurably(file, pem);
      chmodSync(file, READABLE_BY_ALL);
    } catch (error) {
      this.#kernel.log.warn(
        { err: error, file },
        'the root certificate could not be written to its file; it is available at /pki/root.pem',
      );
    }
  }
}

/** Roots overlap, so a file that this installation wrote contains one of the roots that are valid now. */
function isOwn(file: string, pem: string): boolean {
  if (!existsSync(file)) return true;
  const there = certificatesIn(readFileSync(file, 'utf8'));
  return certificatesIn(pem).some((certificate) => there.includes(certificate));
}

function certificatesIn(pem: string): string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

/** Every name by which this process can be reached, as far as it knows. */
export function serverNames(config: Pick<Config, 'host' | 'baseUrl' | 'port' | 'hosts'>): string[] {
  const ofBaseUrl = new URL(config.baseUrl(config.port)).hostname.replace(/^\[(.*)\]$/, '$1');
  const listenedOn = ['0.0.0.0', '::'].includes(config.host) ? [] : [config.host];
  return [
    ...new Set([
      'localhost',
      '127.0.0.1',
      '::1',
      ofBaseUrl,
      ...listenedOn,
      ...config.hosts.filter((name) => !name.includes('*')),
    ]),
  ];
}

async function issueServer(root: Authority, names: readonly string[], now: number): Promise<TlsIdentity> {
  const keys = await crypto.subtle.generateKey(x509.KEY_ALGORITHM, true, ['sign', 'verify']);
  const spki = new Uint8Array(await crypto.subtle.exportKey('spki', keys.publicKey));
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: x509.newSerial(),
    subject: new x509.Name([{ CN: ['Coffer'] }]),
    issuer: root.subject,
    notBefore: new Date(x509.floorToSecond(now - BACKDATED_MS)),
    notAfter: new Date(x509.floorToSecond(Math.min(now + SERVER_LIFE_MS, root.certificate.notAfter))),
    publicKey: keys.publicKey,
    signingKey: root.signingKey,
    signingAlgorithm: x509.SIGNING_ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.SERVER_AUTH]),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }) as const),
      ),
      new x509.SubjectKeyIdentifierExtension(x509.keyIdOf(spki)),
      new x509.AuthorityKeyIdentifierExtension(root.keyId),
    ],
  });
  const key = x509.pemOf('PRIVATE KEY', new Uint8Array(await crypto.subtle.exportKey('pkcs8', keys.privateKey)));
  return { cert: x509.pemOf('CERTIFICATE', new Uint8Array(certificate.rawData)), key };
}
