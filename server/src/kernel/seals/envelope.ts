import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import {
  SEALED_BYTES_MAX,
  SEALED_PLAINTEXT_BYTES_MAX,
  type SealContext,
  SealError,
  type SealProvider,
} from './provider.ts';

const ALGORITHM = 'aes-256-gcm';
const FORMAT = 1;
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + 2;
/** Of a key as the provider returns it. */
export const WRAPPED_BYTES_MAX = SEALED_BYTES_MAX - HEADER_BYTES - IV_BYTES - SEALED_PLAINTEXT_BYTES_MAX - TAG_BYTES;

/** What a KMS, an HSM or another service does: it encrypts a key of 32 bytes, and decrypts it again. */
export interface KeyWrapping {
  /** Such as `aws-kms`. What one kind sealed does not open as another. */
  readonly kind: string;
  /** Binds the context as well, where the service can. */
  wrap(key: Buffer, context: SealContext): Promise<Buffer>;
  unwrap(wrapped: Buffer, context: SealContext): Promise<Buffer>;
  close(): Promise<void>;
}

/**
 * The provider encrypts a key that is used once, and that key encrypts what is sealed. So every provider binds the context, the provider never sees what is
 * sealed, and an answer that is replayed, damaged or another key's is noticed here.
 */
export class EnvelopeProvider implements SealProvider {
  readonly reference: string;
  readonly #wrapping: KeyWrapping;

  constructor(reference: string, wrapping: KeyWrapping) {
    this.reference = reference;
    this.#wrapping = wrapping;
  }

  async seal(plaintext: Uint8Array, context: SealContext): Promise<Buffer> {
    const { length } = plaintext;
    if (length === 0 || length > SEALED_PLAINTEXT_BYTES_MAX)
      throw new RangeError(`What is sealed has 1 to ${SEALED_PLAINTEXT_BYTES_MAX} bytes.`);
    const key = randomBytes(KEY_BYTES);
    try {
      const wrapped = await this.#wrapping.wrap(key, context);
      if (wrapped.length === 0 || wrapped.length > WRAPPED_BYTES_MAX)
        throw new SealError('misconfigured', 'The provider of the seal returned a key of an unusable length.');
      const header = Buffer.alloc(HEADER_BYTES);
      header[0] = FORMAT;
      header.writeUInt16BE(wrapped.length, 1);
      const front = Buffer.concat([header, wrapped]);
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
      cipher.setAAD(this.#associatedData(front, context));
      return Buffer.concat([front, iv, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
    } finally {
      key.fill(0);
    }
  }

  async open(sealed: Uint8Array, context: SealContext): Promise<Buffer> {
    const { front, wrapped, iv, body, tag } = partsOf(sealed);
    const key = await this.#wrapping.unwrap(wrapped, context);
    try {
      if (key.length !== KEY_BYTES) throw notSealedHere();
      const decipher = createDecipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(this.#associatedData(front, context));
      decipher.setAuthTag(tag);
      const plaintext = decipher.update(body);
      try {
        decipher.final();
      } catch {
        plaintext.fill(0);
        throw notSealedHere();
      }
      return plaintext;
    } finally {
      key.fill(0);
    }
  }

  close(): Promise<void> {
    return this.#wrapping.close();
  }

  /** Every part is preceded by its length, so that no two contexts have the same bytes. */
  #associatedData(front: Buffer, { installation, purpose }: SealContext): Buffer {
    const texts = ['coffer-seal', this.#wrapping.kind, installation, purpose].map(
      (text) => `${Buffer.byteLength(text)}:${text}`,
    );
    return Buffer.concat([Buffer.from(texts.join('')), front]);
  }
}

/** `format(1) ‖ length of the wrapped key(2) ‖ wrapped key ‖ iv(12) ‖ ciphertext(1 to 64) ‖ tag(16)` */
function partsOf(sealed: Uint8Array) {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  if (bytes.length < HEADER_BYTES || bytes.length > SEALED_BYTES_MAX || bytes[0] !== FORMAT) throw notSealedHere();
  const wrappedEnd = HEADER_BYTES + bytes.readUInt16BE(1);
  const ivEnd = wrappedEnd + IV_BYTES;
  const bodyEnd = bytes.length - TAG_BYTES;
  const bodyBytes = bodyEnd - ivEnd;
  if (wrappedEnd === HEADER_BYTES || bodyBytes < 1 || bodyBytes > SEALED_PLAINTEXT_BYTES_MAX) throw notSealedHere();
  return {
    front: bytes.subarray(0, wrappedEnd),
    wrapped: bytes.subarray(HEADER_BYTES, wrappedEnd),
    iv: bytes.subarray(wrappedEnd, ivEnd),
    body: bytes.subarray(ivEnd, bodyEnd),
    tag: bytes.subarray(bodyEnd),
  };
}

/** For a provider whose service says so, too. */
export function notSealedHere(): SealError {
  return new SealError(
    'wrong',
    'This was not sealed by this key for this purpose of this installation, or it was changed since. Open it with the seal that sealed it, or restore it from a backup.',
  );
}
