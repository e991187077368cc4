import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';
import { CofferError } from '../../kernel/base/errors.ts';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const FORM =
  /^eaas:v1:([A-Za-z0-9][A-Za-z0-9._-]{0,62}):([1-9]\d{0,8}):([A-Za-z0-9+/]{16}):([A-Za-z0-9+/]*={0,2}):([A-Za-z0-9+/]{22}==)$/;

export interface Envelope {
  keyName: string;
  version: number;
  iv: Buffer;
  ciphertext: Buffer;
  tag: Buffer;
}

/** One response for every envelope that cannot be decrypted, so that nobody learns what was wrong with it. */
export function decryptFailed(): CofferError {
  return new CofferError('DECRYPT_FAILED', 'The ciphertext could not be opened.');
}

/** `eaas:v1:<key_name>:<version>:<iv>:<ciphertext>:<tag>`, in the one spelling that `seal` writes; null for any other. */
export function parseEnvelope(text: string): Envelope | null {
  const match = FORM.exec(text);
  if (match === null) return null;
  const [, keyName = '', version = '', iv = '', ciphertext = '', tag = ''] = match;
  const parts = [iv, ciphertext, tag].map((part) => Buffer.from(part, 'base64'));
  // Base64 has spare bits and optional padding, so a second spelling of the same bytes is refused.
  if ([iv, ciphertext, tag].some((part, i) => parts[i]?.toString('base64') !== part)) return null;
  const [ivBytes, ciphertextBytes, tagBytes] = parts as [Buffer, Buffer, Buffer];
  return { keyName, version: Number(version), iv: ivBytes, ciphertext: ciphertextBytes, tag: tagBytes };
}

/**
 * The IV is always generated here: a caller who could choose it could make it repeat under the same key. IVs are not generated ahead, because a copy
 * of the process or its machine would then use the same ones under the same key.
 */
export function seal(
  key: KeyObject,
  { keyName, version }: { keyName: string; version: number },
  plaintext: string,
  aad: string | undefined,
): string {
  const iv = randomBytes(IV_BYTES);
  const header = `eaas:v1:${keyName}:${version}`;
  const cipher = createCipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(boundData(header, aad));
  const ciphertext = cipher.update(plaintext, 'utf8', 'base64') + cipher.final('base64');
  return `${header}:${iv.toString('base64')}:${ciphertext}:${cipher.getAuthTag().toString('base64')}`;
}

export function open(key: KeyObject, envelope: Envelope, aad: string | undefined): string {
  const { keyName, version, iv, ciphertext, tag } = envelope;
  const decipher = createDecipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(boundData(`eaas:v1:${keyName}:${version}`, aad));
  decipher.setAuthTag(tag);
  const start = decipher.update(ciphertext);
  try {
    const end = decipher.final();
    return (end.length === 0 ? start : Buffer.concat([start, end])).toString('utf8');
  } catch {
    throw decryptFailed();
  }
}

/** The tag also covers the key name, the version and the caller's additional data. No data differs from empty data. */
function boundData(header: string, aad: string | undefined): Buffer {
  return Buffer.from(aad === undefined ? header : `${header}\n${aad}`, 'utf8');
}
