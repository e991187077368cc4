import { createPublicKey, type KeyObject } from 'node:crypto';
import { fits, isUsableKey, type OutsideAlgorithm } from './algorithms.ts';

export const KEYS_MAX = 100;
export const KID_LENGTH_MAX = 512;

/** A public key that somebody outside signs with. */
export interface OutsideKey {
  /** Null if it has none. */
  readonly kid: string | null;
  readonly key: KeyObject;
  /** The only algorithm it says it is for, if it says so. */
  readonly algorithm: string | null;
}

/** The members that make a public key; nothing else of what was sent is looked at (RFC 7518, 6; RFC 8037, 2). */
const PUBLIC_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  RSA: ['kty', 'n', 'e'],
  EC: ['kty', 'crv', 'x', 'y'],
  OKP: ['kty', 'crv', 'x'],
};
/** A key set that shows these has shown its secret: whoever read it can sign. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

export interface KeySet {
  readonly keys: readonly OutsideKey[];
  /** Ids that more than one key has: none of those is used. */
  readonly doubled: ReadonlySet<string>;
}

/** The keys of a JWKS document that can verify signatures (RFC 7517, 5): others, of any kind, are passed over. Null if it is no key set. */
export function keySetOf(document: unknown): KeySet | null {
  const listed = isRecord(document) ? document['keys'] : undefined;
  if (!Array.isArray(listed) || listed.length > KEYS_MAX) return null;
  // Also of those that are passed over: which of two keys is meant must not depend on what we can read.
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

/** The keys that can have signed a token with this header. `kid` is compared and nothing else is done with it. */
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
