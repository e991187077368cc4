import type { KeyObject } from 'node:crypto';

/**
 * The signature algorithms of tokens from outside (RFC 7518, 3.1; RFC 8037; RFC 9864). Only asymmetric ones: with HMAC the public key would be the
 * secret, and `none` is no signature. A key is used only with an algorithm of its own type (RFC 8725, 3.1 and 3.2).
 */
const ALGORITHMS = {
  RS256: { type: 'rsa' },
  RS384: { type: 'rsa' },
  RS512: { type: 'rsa' },
  PS256: { type: 'rsa' },
  PS384: { type: 'rsa' },
  PS512: { type: 'rsa' },
  ES256: { type: 'ec', curve: 'prime256v1' },
  ES384: { type: 'ec', curve: 'secp384r1' },
  ES512: { type: 'ec', curve: 'secp521r1' },
  EdDSA: { type: 'ed25519' },
  Ed25519: { type: 'ed25519' },
} as const satisfies Record<string, { type: string; curve?: string }>;

export type JwsAlgorithm = keyof typeof ALGORITHMS;

export const ANY_ALGORITHM = Object.keys(ALGORITHMS) as readonly JwsAlgorithm[];

const RSA_BITS_MIN = 2048;
/** Beyond these, one verification takes long enough to be an attack. */
const RSA_BITS_MAX = 8192;
const RSA_EXPONENT_MAX = 2n ** 32n;

export function algorithmNamed(name: unknown): JwsAlgorithm | null {
  return ANY_ALGORITHM.find((known) => known === name) ?? null;
}

/** Whether a key is strong enough to verify anything. */
export function isUsableKey(key: KeyObject): boolean {
  const { modulusLength = 0, publicExponent = 0n, namedCurve } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'rsa':
      // With an exponent of 1, anyone can sign.
      return (
        modulusLength >= RSA_BITS_MIN &&
        modulusLength <= RSA_BITS_MAX &&
        publicExponent >= 3n &&
        publicExponent % 2n === 1n &&
        publicExponent <= RSA_EXPONENT_MAX
      );
    case 'ec':
      return Object.values(ALGORITHMS).some((known) => 'curve' in known && known.curve === namedCurve);
    case 'ed25519':
      return true;
    default:
      return false;
  }
}

export function matchesAlgorithm(key: KeyObject, algorithm: JwsAlgorithm): boolean {
  const wanted = ALGORITHMS[algorithm];
  if (key.asymmetricKeyType !== wanted.type) return false;
  return !('curve' in wanted) || key.asymmetricKeyDetails?.namedCurve === wanted.curve;
}
