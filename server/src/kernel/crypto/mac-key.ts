import { hash, type KeyObject } from 'node:crypto';
import { hmacSha256 } from './digest.ts';

/** A key used only for MACs. HMAC needs no IV, so its number of uses is neither limited nor counted. */
export interface MacKey {
  readonly version: number;
  readonly key: KeyObject;
  mac(data: string | Uint8Array): Buffer;
}

/** RFC 2104: the block of SHA-256, and the bytes that a key is combined with for the inner and the outer hash. */
const BLOCK_BYTES = 64;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;
const DIGEST_BYTES = 32;
/** Longer data is hashed by OpenSSL's own HMAC, whose fixed cost does not matter there. */
const SHORT_BYTES_MAX = 8 * 1024;
/** No UTF-16 code unit takes more than three bytes in UTF-8. */
const SHORT_CHARS_MAX = Math.floor(SHORT_BYTES_MAX / 3);

/** The input of an inner hash: the padded key, and the data. */
const inner = Buffer.alloc(BLOCK_BYTES + SHORT_BYTES_MAX);

/**
 * HMAC-SHA256 by two hashes, each of which is one native call. `createHmac` makes objects and looks its algorithm up for each MAC, which takes longer
 * than hashing a row.
 */
class HashedMacKey implements MacKey {
  readonly version: number;
  readonly key: KeyObject;
  readonly #innerKey = Buffer.alloc(BLOCK_BYTES, INNER_PAD);
  /** The padded key, and after it the inner hash. */
  readonly #outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, OUTER_PAD);

  constructor(key: KeyObject, version: number) {
    this.version = version;
    this.key = key;
    const bytes = key.export();
    if (bytes.length > BLOCK_BYTES) throw new Error('a MAC key is longer than a block of its hash');
    for (const [i, byte] of bytes.entries()) {
      this.#innerKey[i] = byte ^ INNER_PAD;
      this.#outer[i] = byte ^ OUTER_PAD;
    }
    bytes.fill(0);
  }

  mac(data: string | Uint8Array): Buffer {
    if (data.length > SHORT_CHARS_MAX) return hmacSha256(this.key, data);
    this.#innerKey.copy(inner);
    const end = BLOCK_BYTES + (typeof data === 'string' ? inner.write(data, BLOCK_BYTES) : copied(data));
    this.#outer.write(hash('sha256', inner.subarray(0, end), 'latin1'), BLOCK_BYTES, 'latin1');
    return Buffer.from(hash('sha256', this.#outer, 'latin1'), 'latin1');
  }
}

function copied(data: Uint8Array): number {
  inner.set(data, BLOCK_BYTES);
  return data.length;
}

const made = new WeakMap<KeyObject, MacKey>();

export function macKeyOf(key: KeyObject, version: number): MacKey {
  let known = made.get(key);
  if (known?.version !== version) {
    known = new HashedMacKey(key, version);
    made.set(key, known);
  }
  return known;
}
