import { createPublicKey, type KeyObject } from 'node:crypto';
import { isUsableKey, type JwsAlgorithm, matchesAlgorithm } from './algorithms.ts';

export const KEYS_MAX = 100;
export const KID_LENGTH_MAX = 512;

/** A public key of an external issuer. */
export interface ExternalKey {
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
/** A key with one of these members includes its private or symmetric key: anyone who has read the key set can sign with it. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

export interface KeySet {
  readonly keys: readonly ExternalKey[];
  /** Ids that several keys share: none of these keys is used. */
  readonly duplicateKids: ReadonlySet<string>;
}

/** The keys of a JWKS document that can verify signatures (RFC 7517, 5); all other keys are skipped. Null if it is not a key set or is too large. */
export function parseKeySet(document: unknown): KeySet | null {
  const listed = isRecord(document) ? document['keys'] : undefined;
  if (!Array.isArray(listed) || listed.length > KEYS_MAX) return null;
  // Skipped keys count too: which key a kid selects must not depend on which keys we can parse.
  const kids = listed.map((jwk) => (isRecord(jwk) && typeof jwk['kid'] === 'string' ? jwk['kid'] : null));
  const duplicateKids = new Set(
    kids.filter((kid, index) => kid !== null && kids.indexOf(kid) !== index),
  ) as Set<string>;
  const keys = listed.map(parseKey).filter((key) => key !== null);
  return { keys: keys.filter(({ kid }) => kid === null || !duplicateKids.has(kid)), duplicateKids };
}

function parseKey(jwk: unknown): ExternalKey | null {
  if (!isRecord(jwk)) return null;
  const { kty, use, key_ops, kid = null, alg = null } = jwk;
  if (use !== undefined && use !== 'sig') return null;
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify'))) return null;
  if (kid !== null && (typeof kid !== 'string' || kid.length > KID_LENGTH_MAX)) return null;
  if (alg !== null && typeof alg !== 'string') return null;
  const members = typeof kty === 'string' && Object.hasOwn(PUBLIC_MEMBERS, kty) ? PUBLIC_MEMBERS[kty] : undefined;
  if (members === undefined || PRIVATE_MEMBERS.some((name) => Object.hasOwn(jwk, name))) return null;
  const publicJwk = Object.fromEntries(members.map((name) => [name, jwk[name]]));
  if (Object.values(publicJwk).some((member) => typeof member !== 'string')) return null;
  try {
    const key = createPublicKey({ key: publicJwk, format: 'jwk' });
    return isUsableKey(key) ? { kid, key, algorithm: alg } : null;
  } catch {
    return null;
  }
}

/** The keys that can have signed a token with this header. `kid` is not trusted yet, so it is only compared (RFC 8725, 3.10). */
export function candidateKeys(
  keys: readonly ExternalKey[],
  kid: string | null,
  algorithm: JwsAlgorithm,
): readonly ExternalKey[] {
  return keys.filter(
    (candidate) =>
      (kid === null || candidate.kid === kid) &&
      matchesAlgorithm(candidate.key, algorithm) &&
      (candidate.algorithm === null || candidate.algorithm === algorithm),
  );
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
