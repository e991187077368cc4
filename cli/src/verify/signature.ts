import { constants, createPublicKey, hash, verify } from 'node:crypto';

/**
 * Implemented again, independently of the service, so that an auditor need not trust the code that wrote the log. There are two signatures, both of
 * which must verify (id-MLDSA65-RSA3072-PSS-SHA512 of draft-ietf-lamps-pq-composite-sigs).
 */

const ALGORITHM = 'rsa-pss-3072+ml-dsa-65';
const KEY_ID_PREFIX = 'rsa-pss-3072-';
const FINGERPRINT_DIGITS = 40;
const ML_DSA_PUBLIC_BYTES = 1952;
const ML_DSA_SIGNATURE_BYTES = 3309;
const SIGNATURE_BYTES = ML_DSA_SIGNATURE_BYTES + 384;
const RSA_BITS = 3072;
const PREFIX = 'CompositeAlgorithmSignatures2025';
const LABEL = 'COMPSIG-MLDSA65-RSA3072-PSS-SHA512';

/** Derived from the public key, so that noting the id pins the key. */
export function keyIdOf(publicKey: Buffer): string {
  const digest = hash('sha256', Buffer.concat([Buffer.from(`${ALGORITHM}\n`), publicKey]), 'hex');
  return `${KEY_ID_PREFIX}${digest.slice(0, FINGERPRINT_DIGITS)}`;
}

export function isKeyId(text: string): boolean {
  return text.startsWith(KEY_ID_PREFIX) && /^[0-9a-f]{40}$/.test(text.slice(KEY_ID_PREFIX.length));
}

/** The context is signed too, so that a checkpoint signature cannot pass for a key endorsement. */
export type Context = 'coffer-audit-checkpoint-v1' | 'coffer-audit-key-v1' | 'coffer-audit-archive-v1';

/** Tells which halves do not verify; null if both do. */
export function signatureProblem(publicKey: Buffer, context: Context, text: string, signature: Buffer): string | null {
  if (signature.length !== SIGNATURE_BYTES) return 'it has the wrong length';
  const message = Buffer.concat([
    Buffer.from(`${PREFIX}${LABEL}`),
    Buffer.from([context.length]),
    Buffer.from(context),
    hash('sha512', text, 'buffer'),
  ]);
  const failed: string[] = [];
  if (!isRsaPss(publicKey, message, signature)) failed.push('RSA-PSS');
  if (!isMlDsa(publicKey, message, signature)) failed.push('ML-DSA');
  return failed.length === 0 ? null : `${failed.join(' and ')} ${failed.length === 1 ? 'does' : 'do'} not verify`;
}

function isMlDsa(publicKey: Buffer, message: Buffer, signature: Buffer): boolean {
  try {
    const bytes = publicKey.subarray(0, ML_DSA_PUBLIC_BYTES);
    const key = createPublicKey({ key: bytes, format: 'raw-public', asymmetricKeyType: 'ml-dsa-65' });
    const half = signature.subarray(0, ML_DSA_SIGNATURE_BYTES);
    return verify(null, message, { key, context: Buffer.from(LABEL) }, half);
  } catch {
    return false;
  }
}

function isRsaPss(publicKey: Buffer, message: Buffer, signature: Buffer): boolean {
  try {
    const key = createPublicKey({ key: publicKey.subarray(ML_DSA_PUBLIC_BYTES), format: 'der', type: 'pkcs1' });
    if (key.asymmetricKeyDetails?.modulusLength !== RSA_BITS) return false;
    const options = { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
    return verify('sha256', message, options, signature.subarray(ML_DSA_SIGNATURE_BYTES));
  } catch {
    return false;
  }
}
