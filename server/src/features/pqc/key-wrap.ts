import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { HybridKem, HybridPrivateKey } from './hybrid-kem.ts';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
export const WRAPPED_KEY_BYTES = 32;

/** What a wrapped key is bound to: under another key id or algorithm it does not open. */
export interface WrapBinding {
  algorithm: string;
  keyId: string;
}

export function wrappedBytes(kem: HybridKem): number {
  return kem.ciphertextBytes + IV_BYTES + WRAPPED_KEY_BYTES + TAG_BYTES;
}

/**
 * Returns `KEM ciphertext ‖ iv(12) ‖ key(32) ‖ tag(16)`, or null if the public key is invalid. The IV is random, and its key is new for each call.
 */
export function wrapKey(kem: HybridKem, publicKey: Buffer, key: Buffer, binding: WrapBinding): Buffer | null {
  const encapsulated = kem.encapsulate(publicKey);
  if (encapsulated === null) return null;
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, encapsulated.secret, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(associatedData(binding));
  const body = cipher.update(key);
  cipher.final();
  return Buffer.concat([encapsulated.ciphertext, iv, body, cipher.getAuthTag()]);
}

/** Returns the key or null. All failures look the same. */
export function unwrapKey(
  kem: HybridKem,
  privateKey: HybridPrivateKey,
  wrapped: Buffer,
  binding: WrapBinding,
): Buffer | null {
  if (wrapped.length !== wrappedBytes(kem)) return null;
  const ivStart = kem.ciphertextBytes;
  const keyStart = ivStart + IV_BYTES;
  const tagStart = keyStart + WRAPPED_KEY_BYTES;
  const secret = kem.decapsulate(privateKey, wrapped.subarray(0, ivStart));
  const decipher = createDecipheriv(CIPHER, secret, wrapped.subarray(ivStart, keyStart), { authTagLength: TAG_BYTES });
  decipher.setAAD(associatedData(binding));
  decipher.setAuthTag(wrapped.subarray(tagStart));
  try {
    const key = decipher.update(wrapped.subarray(keyStart, tagStart));
    decipher.final();
    return key;
  } catch {
    return null;
  }
}

/** The separator is unambiguous, because neither part contains a line break. */
function associatedData({ algorithm, keyId }: WrapBinding): Buffer {
  return Buffer.from(`${algorithm}\n${keyId}`, 'utf8');
}
