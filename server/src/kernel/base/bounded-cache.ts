import { LRUCache } from 'lru-cache';

/** A part that several values share, such as a policy of many principals. Its bytes are counted once, however many values refer to it. */
export interface SharedPart {
  readonly bytes: number;
}

export interface CacheBounds<K, V> {
  bytesMax: number;
  /** The memory of an entry, including its key. An estimate should be too high rather than too low. */
  bytesOf(value: V, key: K): number;
  /** Parts that `bytesOf` does not count, because other values may share them. */
  sharedParts?(value: V): readonly SharedPart[];
}

/** Overhead of one entry in the map itself. */
const ENTRY_BYTES = 96;
/** Memory of a key object of the runtime, such as a cipher context or a key pair. Most of it is outside the heap. */
export const SECRET_KEY_BYTES = 512;
export const KEY_PAIR_BYTES = 8 * 1024;

/** A value of any type, because lru-cache stores only objects and texts. */
interface Entry<V> {
  readonly value: V;
}

/** Evicts the least recently used entries once the total size, that of shared parts included, exceeds the limit. */
export class BoundedCache<K extends {}, V> {
  readonly #entries: LRUCache<K, Entry<V>>;
  readonly #bounds: CacheBounds<K, V>;
  /** How many entries refer to each shared part. */
  readonly #holders = new Map<SharedPart, number>();
  #sharedBytes = 0;

  constructor(bounds: CacheBounds<K, V>) {
    this.#bounds = bounds;
    this.#entries = new LRUCache({
      maxSize: bounds.bytesMax,
      sizeCalculation: ({ value }, key) => Math.max(1, Math.ceil(ENTRY_BYTES + bounds.bytesOf(value, key))),
      ...(bounds.sharedParts !== undefined && { dispose: ({ value }) => this.#release(value) }),
    });
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** An entry larger than the whole cache is not stored. */
  set(key: K, value: V): void {
    const entry = { value };
    // Of parts that the former value has too, the last holder must not end in between.
    this.#hold(value);
    this.#entries.set(key, entry);
    if (this.#entries.peek(key) !== entry) this.#release(value);
    while (this.bytes > this.#bounds.bytesMax) this.#entries.pop();
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  #hold(value: V): void {
    for (const part of this.#bounds.sharedParts?.(value) ?? []) {
      const holders = this.#holders.get(part) ?? 0;
      this.#holders.set(part, holders + 1);
      if (holders === 0) this.#sharedBytes += part.bytes;
    }
  }

  #release(value: V): void {
    for (const part of this.#bounds.sharedParts?.(value) ?? []) {
      const holders = this.#holders.get(part) ?? 0;
      if (holders > 1) this.#holders.set(part, holders - 1);
      else if (this.#holders.delete(part)) this.#sharedBytes -= part.bytes;
    }
  }

  clear(): void {
    this.#entries.clear();
  }

  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#entries.calculatedSize + this.#sharedBytes;
  }
}
