import { createPublicKey, type KeyObject } from 'node:crypto';
import { fits, isUsableKey, type OutsideAlgorithm } from './algorithms.ts';

export const KEYS_MAX = 100;
export const KID_LENGTH_MAX = 512;

/** A public key of an outside issuer. */
export interface OutsideKey {
  readonly kid: string | null;
  readonly key: KeyObject;
  /** The only algorithm the key may be used with, if it declares one. */
  readonly algorithm: string | null;
}

/** The members that make up a public key; all others are ignored (RFC 7518, 6; RFC 8037, 2). */
const PUBLIC_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  RSA: ['kty', 'n', 'e'],
  EC: ['kty', 'crv', 'x', 'y'],
  OKP: ['kty', 'crv', 'x'],
};
/** A key set with these members has published its private key: anyone who read it can sign. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

export interface KeySet {
  readonly keys: readonly OutsideKey[];
  /** Ids that several keys share: none of these keys is used. */
  readonly doubled: ReadonlySet<string>;
}

/** The keys of a JWKS document that can verify signatures (RFC 7517, 5); all other keys are skipped. Null if it is not a key set. */
export function keySetOf(document: unknown): KeySet | null {
  const listed = isRecord(document) ? document['keys'] : undefined;
  if (!Array.isArray(listed) || listed.length > KEYS_MAX) return null;
  // Skipped keys count too: which of two keys is meant must not depend on which of them we can parse.
  const kids = listed.map((jwk) => (isRecord(jwk) && typeof jwk['kid'] === 'string' ? jwk['kid'] : null));
  const doubled = new Set(kids.filter((kid, index) => kid !== null && kids.indexOf(kid) !== index)) as Set<string>;
  const keys = listed.map(keyOf).filter((key) => key !== null);
  return { keys: keys.filter(({ kid }) => kid === null || !doubled.has(kid)), doubled };
}

function keyOf(jwk: unknown): OutsideKey | null {
  if (!isRecord(jwk)) return null;
  const { kty, use, key_ops, kid = null, alg = null } = jwk;
  if (use !== undefined && use !== 'sig') return null;
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify'))) return null;
  if (kid !== null && (typeof kid !== 'string' || kid.length > KID_LENGTH_MAX)) return null;
  if (alg !== null && typeof alg !== 'string') return null;
  const members = typeof kty === 'string' && Object.hasOwn(PUBLIC_MEMBERS, kty) ? PUBLIC_MEMBERS[kty] : undefined;
  if (members === undefined || PRIVATE_MEMBERS.some((name) => Object.hasOwn(jwk, name))) return null;
  const bare = Object.fromEntries(members.map((name) => [name, jwk[name]]));
  if (Object.values(bare).some((member) => typeof member !== 'string')) return null;
  try {
    const key = createPublicKey({ key: bare, format: 'jwk' });
    return isUsableKey(key) ? { kid, key, algorithm: alg } : null;
  } catch {
    return null;
  }
}

/** The keys that can have signed a token with this header. `kid` is only compared and not used for anything else. */
export function candidates(
  keys: readonly OutsideKey[],
  kid: string | null,
  algorithm: OutsideAlgorithm,
): readonly OutsideKey[] {
  return keys.filter(
    (known) =>
      (kid === null || known.kid === kid) &&
      fits(known.key, algorithm) &&
      (known.algorithm === null || known.algorithm === algorithm),
  );
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
