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

/** Removals after which an idle iterator is dropped. */
const CHANGES_MAX = 1000;

interface Entry<V> {
  readonly value: V;
  readonly bytes: number;
}

/** A map that evicts the least recently used entries once the total size exceeds the limit. */
export class BoundedCache<K, V> {
  readonly #entries = new Map<K, Entry<V>>();
  readonly #bounds: CacheBounds<K, V>;
  /** How many entries refer to each shared part. */
  readonly #holders = new Map<SharedPart, number>();
  #bytes = 0;
  /** An iterator at the least recently used entry. A new iterator would first have to skip the slots of all removed entries, on every eviction. */
  #oldest: MapIterator<K> | null = null;
  /** Entries moved or removed since the iterator last advanced. */
  #changes = 0;

  constructor(bounds: CacheBounds<K, V>) {
    this.#bounds = bounds;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (this.#bytes > this.#bounds.bytesMax / 2) {
      this.#remove(key);
      this.#entries.set(key, entry);
    }
    return entry.value;
  }

  /** An entry larger than the whole cache is not stored. */
  set(key: K, value: V): void {
    this.delete(key);
    const bytes = ENTRY_BYTES + this.#bounds.bytesOf(value, key);
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes + this.#hold(value);
    while (this.#bytes > this.#bounds.bytesMax) this.#evictOldest();
  }

  #evictOldest(): void {
    this.#changes = 0;
    this.#oldest ??= this.#entries.keys();
    let { done, value } = this.#oldest.next();
    if (done) {
      this.#oldest = this.#entries.keys();
      ({ value } = this.#oldest.next());
    }
    this.delete(value as K);
  }

  /**
   * The map is rebuilt again and again as entries are removed, and an iterator keeps every earlier state of it in memory, with its values, until it
   * advances. One that does not advance is dropped.
   */
  #remove(key: K): void {
    this.#entries.delete(key);
    if (++this.#changes > CHANGES_MAX) this.#oldest = null;
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#remove(key);
    this.#bytes -= entry.bytes + this.#release(entry.value);
  }

  /** Returns the bytes of the parts that no other entry held before. */
  #hold(value: V): number {
    let bytes = 0;
    for (const part of this.#bounds.sharedParts?.(value) ?? []) {
      const holders = this.#holders.get(part) ?? 0;
      this.#holders.set(part, holders + 1);
      if (holders === 0) bytes += part.bytes;
    }
    return bytes;
  }

  /** Returns the bytes of the parts that no entry holds any more. */
  #release(value: V): number {
    let bytes = 0;
    for (const part of this.#bounds.sharedParts?.(value) ?? []) {
      const holders = this.#holders.get(part) ?? 0;
      if (holders > 1) this.#holders.set(part, holders - 1);
      else if (this.#holders.delete(part)) bytes += part.bytes;
    }
    return bytes;
  }

  clear(): void {
    this.#entries.clear();
    this.#holders.clear();
    this.#bytes = 0;
  }

  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }
}
