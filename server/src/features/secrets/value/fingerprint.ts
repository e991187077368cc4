import { isGuessable } from '../../../../../detection/src/index.ts';
import { hmacSha256, sha256 } from '../../../kernel/crypto/digest.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';

const PURPOSE = 'fingerprints';
/** Part of every digest, so that it is not that of the same text elsewhere. */
const DIGEST_CONTEXT = 'coffer known value\n';
/** The two kinds of fingerprints of a digest: what somebody could find by trying is compared by other rules. */
const [GUESSABLE, UNGUESSABLE] = [Buffer.from([0]), Buffer.from([1])];

/** What is stored beside a value, so that an equal one is found. */
export interface Fingerprint {
  fingerprint: Uint8Array;
  /**
   * The version of the key, negative for the fingerprint of a digest. Releases up to 0.5.0 have fingerprints of values, with positive versions, or 0
   * if the version is not known. A node of such a release, which may still run, searches for no key by a negative version.
   */
  fingerprint_version: number;
}

/** Makes the fingerprints of one tenant with one version of its key. */
export interface FingerprintKey {
  readonly version: number;
  ofValue(value: string): Buffer;
  /** Null for a version that has fingerprints of the values themselves. */
  ofDigest(digest: Uint8Array, isOfGuessable: boolean): Buffer | null;
}

/** Clients send it instead of a value. Who has a value can make it, and who has only the digest of a value that nobody guesses has nothing. */
export function digestOf(value: string): Buffer {
  return sha256(DIGEST_CONTEXT + value);
}

/** Fingerprints of equal values must stay equal, so this key is never rotated automatically. */
export async function fingerprintKey(kernel: Pick<Kernel, 'keyring'>, tenantId: string): Promise<FingerprintKey> {
  const { version } = await kernel.keyring.macKey(tenantId, PURPOSE, Number.POSITIVE_INFINITY);
  return fingerprintKeyAt(kernel, tenantId, -version);
}

export async function fingerprintKeyAt(
  kernel: Pick<Kernel, 'keyring'>,
  tenantId: string,
  version: number,
): Promise<FingerprintKey> {
  const key = await kernel.keyring.keyAt(tenantId, PURPOSE, Math.abs(version));
  if (version >= 0) return { version, ofValue: (value) => hmacSha256(key, value), ofDigest: () => null };
  const ofDigest = (digest: Uint8Array, isOfGuessable: boolean) =>
    hmacSha256(key, Buffer.concat([isOfGuessable ? GUESSABLE : UNGUESSABLE, digest]));
  return { version, ofValue: (value) => ofDigest(digestOf(value), isGuessable(value)), ofDigest };
}

const NO_FINGERPRINT = { fingerprint: null, fingerprint_version: null };

/** Two empty values are not a shared secret, so an empty value has no fingerprint. */
export function fingerprintOf(key: FingerprintKey, value: string): Fingerprint | typeof NO_FINGERPRINT {
  if (value === '') return NO_FINGERPRINT;
  return { fingerprint: key.ofValue(value), fingerprint_version: key.version };
}
