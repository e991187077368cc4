import type { JwsAlgorithm } from './algorithms.ts';
import { type Claims, type Expectations, isSignedBy, readToken, refuseUnfitClaims } from './external-jwt.ts';
import { candidateKeys, type ExternalKey } from './key-set.ts';
import type { KeySets, KeySource } from './key-sets.ts';
import { refuse } from './refusal.ts';

/**
 * The claims of a token that its issuer signed for us and that is valid now. The claims are checked before the issuer's keys are fetched, so that a
 * token that cannot be accepted causes no call. They are returned only after the signature was verified.
 */
export async function verifiedByKeySet(
  text: string,
  allowed: readonly JwsAlgorithm[],
  expected: Expectations,
  { source, keySets }: { source: KeySource; keySets: KeySets },
): Promise<Claims> {
  const token = readToken(text, allowed, expected.types);
  refuseUnfitClaims(token.unverified, expected);
  const key = await keySets.find(source, token.header.kid, token.header.algorithm);
  if (!(await isSignedBy(token, key))) refuse('the signature is wrong');
  return token.unverified;
}

/** The same for keys that are already known and have no ids: each key that fits is tried. */
export async function verifiedByKeys(
  text: string,
  allowed: readonly JwsAlgorithm[],
  expected: Expectations,
  keys: readonly ExternalKey[],
): Promise<Claims> {
  const token = readToken(text, allowed, expected.types);
  refuseUnfitClaims(token.unverified, expected);
  for (const key of candidateKeys(keys, null, token.header.algorithm)) {
    if (await isSignedBy(token, key)) return token.unverified;
  }
  return refuse('the signature is wrong');
}
