import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
  X509Certificate,
} from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { PeerCertificate } from '../../kernel/auth/peer-certificate.ts';
import { StartError } from '../../kernel/base/data-folder.ts';
import { decodeBase64 } from '../../kernel/crypto/base64.ts';
import { type Operation, signedText, type UnsignedOperation } from './crdt/operation.ts';
import type { RegionConfig } from './settings.ts';

const CERTIFICATES_MAX = 16;
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

interface KnownRegion {
  readonly keys: readonly KeyObject[];
  /** SHA-256 of each public key. */
  readonly thumbprints: ReadonlySet<string>;
  readonly pem: string;
}

/** The key of this region, and the certificates of the others. They come from files, because the database is not trusted to say who a region is. */
export class RegionIdentity {
  readonly certPem: string;
  readonly keyPem: string;
  readonly #key: KeyObject;
  readonly #publicKey: KeyObject;
  readonly #regions = new Map<string, KnownRegion>();

  constructor({ name, certFile, keyFile, peers }: RegionConfig) {
    this.certPem = readPem(certFile, 'CV_REGION_CERT_FILE');
    this.keyPem = readPem(keyFile, 'CV_REGION_KEY_FILE');
    this.#key = privateKeyOf(this.keyPem, keyFile);
    this.#publicKey = createPublicKey(this.#key);
    const own = knownRegion(this.certPem, certFile, 'CV_REGION_CERT_FILE');
    const [leaf] = own.keys;
    if (leaf === undefined || thumbprintOf(leaf) !== thumbprintOf(this.#publicKey))
      throw new StartError(`${keyFile} (CV_REGION_KEY_FILE) is not the key of the certificate in ${certFile}.`);
    this.#regions.set(name, own);
    for (const peer of peers) {
      const known = knownRegion(readPem(peer.certFile, 'CV_REGION_PEERS'), peer.certFile, 'CV_REGION_PEERS');
      this.#refuseShared(peer.name, known);
      this.#regions.set(peer.name, known);
    }
  }

  /** With the key of another region, one region could speak for both. */
  #refuseShared(name: string, { thumbprints }: KnownRegion): void {
    for (const [other, known] of this.#regions) {
      if ([...known.thumbprints].some((print) => thumbprints.has(print)))
        throw new StartError(`The regions ${other} and ${name} have the same certificate key: give each its own.`);
    }
  }

  sign(operation: UnsignedOperation): Operation {
    const signature = sign(digestOf(this.#key), Buffer.from(signedText(operation)), this.#key).toString('base64');
    return { ...operation, signature };
  }

  /** Whether the region that an operation names as its origin signed it. */
  isSigned(operation: Operation): boolean {
    const signature = decodeBase64(operation.signature);
    const known = this.#regions.get(operation.origin);
    if (signature === null || known === undefined) return false;
    const text = Buffer.from(signedText(operation));
    return known.keys.some((key) => verify(digestOf(key), text, key, signature));
  }

  /** All configured regions, this one included. */
  get names(): string[] {
    return [...this.#regions.keys()];
  }

  isSignedWithOwnKey(operation: Operation): boolean {
    const signature = decodeBase64(operation.signature);
    const text = Buffer.from(signedText(operation));
    return signature !== null && verify(digestOf(this.#publicKey), text, this.#publicKey, signature);
  }

  isKnownRegion(name: string): boolean {
    return this.#regions.has(name);
  }

  /** The other region that presented this certificate, or null. Only its public key counts, so that it can be renewed. */
  peerOf(certificate: PeerCertificate | null, own: string, now: number): string | null {
    if (certificate === null) return null;
    const leaf = certificateOf(certificate.der);
    if (leaf === null || !isValidAt(leaf, now)) return null;
    const print = thumbprintOf(leaf.publicKey);
    for (const [name, { thumbprints }] of this.#regions) if (name !== own && thumbprints.has(print)) return name;
    return null;
  }

  pemOf(region: string): string {
    return this.#regions.get(region)?.pem ?? '';
  }
}

function isValidAt({ validFromDate, validToDate }: X509Certificate, now: number): boolean {
  return validFromDate.getTime() <= now && now <= validToDate.getTime();
}

function certificateOf(der: Uint8Array): X509Certificate | null {
  try {
    return new X509Certificate(Buffer.from(der));
  } catch {
    // Anyone who connects can present any bytes; those that are no certificate are nobody's.
    return null;
  }
}

function readPem(file: string, setting: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new StartError(`${file} (${setting}) cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

function privateKeyOf(pem: string, file: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new StartError(`${file} (CV_REGION_KEY_FILE) must contain one private key in PEM without a passphrase.`);
  }
}

function knownRegion(pem: string, file: string, setting: string): KnownRegion {
  const found = pem.match(PEM) ?? [];
  try {
    if (found.length === 0 || found.length > CERTIFICATES_MAX) throw new Error('no certificates, or too many');
    const certificates = found.map((one) => new X509Certificate(one));
    const name = certificates[0]?.subject;
    // An authority after the first certificate only vouches for servers. Regions may share one, and it is nobody's identity. A certificate with the
    // subject of the first one replaces it, also if it could issue others: `openssl req -x509` makes such certificates unless told otherwise.
    const isOwn = ({ ca, subject }: X509Certificate) => !ca || subject === name;
    const keys = certificates.filter(isOwn).map(({ publicKey }) => publicKey);
    return { keys, thumbprints: new Set(keys.map(thumbprintOf)), pem: found.join('\n') };
  } catch {
    throw new StartError(`${file} (${setting}) must contain 1 to ${CERTIFICATES_MAX} certificates in PEM.`);
  }
}

function thumbprintOf(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ format: 'der', type: 'spki' }))
    .digest('hex');
}

/** Edwards curves have their own digest (RFC 8032). */
function digestOf({ asymmetricKeyType }: KeyObject): 'sha256' | null {
  return asymmetricKeyType === 'ed25519' || asymmetricKeyType === 'ed448' ? null : 'sha256';
}
