/** What several values hold together, such as a policy of many principals: it is counted once, however many hold it. */
export interface SharedPart {
  readonly bytes: number;
}

export interface CacheBounds<K, V> {
  bytesMax: number;
  /** What an entry holds in memory, its key included: rather too much than too little. */
  bytesOf(value: V, key: K): number;
  /** What is not counted by `bytesOf`, since other values may hold it too. */
  sharedParts?(value: V): readonly SharedPart[];
}

/** The place of an entry in the map itself. */
const ENTRY_BYTES = 96;
/** What a key object of the runtime holds, outside the heap for the most part: a context of the cipher, or a key pair. */
export const SECRET_KEY_BYTES = 512;
export const KEY_PAIR_BYTES = 8 * 1024;

interface Entry<V> {
  readonly value: V;
  readonly bytes: number;
}

/** A map that evicts what was used least recently once its entries take more than they may. */
export class BoundedCache<K, V> {
  readonly #entries = new Map<K, Entry<V>>();
  readonly #bounds: CacheBounds<K, V>;
  /** How many entries hold each shared part. */
  readonly #holders = new Map<SharedPart, number>();
  #bytes = 0;
  /** Stands at what was used least recently. One that begins anew would first pass the places of all that was removed, each time. */
  #oldest = this.#entries.keys();

  constructor(bounds: CacheBounds<K, V>) {
    this.#bounds = bounds;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (this.#bytes > this.#bounds.bytesMax / 2) {
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    return entry.value;
  }

  /** What is larger than the whole cache is not stored. */
  set(key: K, value: V): void {
    this.delete(key);
    const bytes = ENTRY_BYTES + this.#bounds.bytesOf(value, key);
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes + this.#hold(value);
    while (this.#bytes > this.#bounds.bytesMax) this.#evictOldest();
  }

  #evictOldest(): void {
    let { done, value } = this.#oldest.next();
    if (done) {
      this.#oldest = this.#entries.keys();
      ({ value } = this.#oldest.next());
    }
    this.delete(value as K);
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes + this.#release(entry.value);
  }

  /** The bytes of the parts that nothing here held before. */
  #hold(value: V): number {
    let bytes = 0;
    for (const part of this.#bounds.sharedParts?.(value) ?? []) {
      const holders = this.#holders.get(part) ?? 0;
      this.#holders.set(part, holders + 1);
      if (holders === 0) bytes += part.bytes;
    }
    return bytes;
  }

  /** The bytes of the parts that nothing here holds any more. */
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
