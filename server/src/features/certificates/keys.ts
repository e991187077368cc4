import type { KeyObject } from 'node:crypto';

const RSA_BITS_MIN = 2048;
/** Larger keys make every handshake slow and nothing safer. */
const RSA_BITS_MAX = 8192;
const RSA_EXPONENT_MIN = 65_537n;
const CURVES = ['prime256v1', 'secp384r1'];
export const ACCEPTED_KEYS = 'P-256, P-384, Ed25519, or RSA of 2,048 to 8,192 bits';

/** Whether a key may be certified, or may have signed a certificate we rely on. */
export function isAcceptableKey(key: KeyObject): boolean {
  const { modulusLength = 0, publicExponent = 0n, namedCurve = '' } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === 'ed25519') return true;
  if (key.asymmetricKeyType === 'ec') return CURVES.includes(namedCurve);
  if (key.asymmetricKeyType !== 'rsa') return false;
  return modulusLength >= RSA_BITS_MIN && modulusLength <= RSA_BITS_MAX && publicExponent >= RSA_EXPONENT_MIN;
}
