import { hash } from 'node:crypto';

const KEY_BYTES = 16;
const DIGEST_BYTES = 15;
const STATE = KEY_BYTES + DIGEST_BYTES;
const SLOT_BYTES = STATE + 1;
const FIRST_SLOTS = 1024;
const FREE = 0;
const PRESENT = 1;
const DELETED = 2;
/** Set once the row was seen in its table. */
const SEEN = 4;

/**
 * The last recorded digest of each row, in 32 bytes each: a tenant may have millions of rows, and objects for them would take a gigabyte. Names and
 * digests are truncated to a length at which collisions do not happen by chance.
 */
export class DigestTable {
  #slots = FIRST_SLOTS;
  #bytes = Buffer.alloc(FIRST_SLOTS * SLOT_BYTES);
  #used = 0;

  set(name: string, digest: string | null): void {
    if (this.#used * 2 >= this.#slots) this.#grow();
    const key = keyOf(name);
    const at = this.#find(this.#bytes, this.#slots, key);
    if (this.#bytes[at + STATE] === FREE) {
      this.#used++;
      key.copy(this.#bytes, at);
    }
    this.#bytes.fill(0, at + KEY_BYTES, at + SLOT_BYTES);
    if (digest !== null) shortened(digest).copy(this.#bytes, at + KEY_BYTES);
    this.#bytes[at + STATE] = digest === null ? DELETED : PRESENT;
  }

  /** Whether a change that found this digest, or null for no row, directly follows the last recorded state of the row. */
  isLast(name: string, before: string | null): boolean {
    const at = this.#find(this.#bytes, this.#slots, keyOf(name));
    const state = (this.#bytes[at + STATE] ?? FREE) & ~SEEN;
    if (state !== PRESENT) return state === FREE || before === null;
    return before !== null && shortened(before).equals(this.#bytes.subarray(at + KEY_BYTES, at + STATE));
  }

  /** Compares an existing row with its last recorded state, and marks it as seen. */
  compare(name: string, digest: string): 'same' | 'other' | 'deleted' | 'unknown' {
    const at = this.#find(this.#bytes, this.#slots, keyOf(name));
    const state = (this.#bytes[at + STATE] ?? FREE) & ~SEEN;
    if (state === FREE) return 'unknown';
    this.#bytes[at + STATE] = state | SEEN;
    if (state === DELETED) return 'deleted';
    const isSame = shortened(digest).equals(this.#bytes.subarray(at + KEY_BYTES, at + STATE));
    return isSame ? 'same' : 'other';
  }

  /** Whether the row should exist but was not seen. */
  isMissed(name: string): boolean {
    return this.#bytes[this.#find(this.#bytes, this.#slots, keyOf(name)) + STATE] === PRESENT;
  }

  /** The number of rows that should exist but were not seen. */
  get missed(): number {
    let count = 0;
    for (let at = STATE; at < this.#bytes.length; at += SLOT_BYTES) if (this.#bytes[at] === PRESENT) count++;
    return count;
  }

  #grow(): void {
    const slots = this.#slots * 2;
    const bytes = Buffer.alloc(slots * SLOT_BYTES);
    for (let at = 0; at < this.#bytes.length; at += SLOT_BYTES) {
      if (this.#bytes[at + STATE] === FREE) continue;
      const to = this.#find(bytes, slots, this.#bytes.subarray(at, at + KEY_BYTES));
      this.#bytes.copy(bytes, to, at, at + SLOT_BYTES);
    }
    this.#slots = slots;
    this.#bytes = bytes;
  }

  /** The slot of the key, or the free slot where it belongs. */
  #find(bytes: Buffer, slots: number, key: Buffer): number {
    for (let slot = key.readUInt32LE(0) % slots; ; slot = (slot + 1) % slots) {
      const at = slot * SLOT_BYTES;
      if (bytes[at + STATE] === FREE || key.equals(bytes.subarray(at, at + KEY_BYTES))) return at;
    }
  }
}

function keyOf(name: string): Buffer {
  return hash('sha256', name, 'buffer').subarray(0, KEY_BYTES);
}

function shortened(digest: string): Buffer {
  return Buffer.from(digest, 'base64url').subarray(0, DIGEST_BYTES);
}
