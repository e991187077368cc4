/** A map that forgets what was used least recently once it is full. */
export class BoundedCache<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #capacity: number;
  /** Stands at what was used least recently. One that begins anew would first pass the places of all that was removed, each time. */
  #oldest = this.#entries.keys();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined && this.#entries.size > this.#capacity / 2) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#capacity) {
      this.#forgetOldest();
    }
    this.#entries.set(key, value);
  }

  #forgetOldest(): void {
    let { done, value } = this.#oldest.next();
    if (done) {
      this.#oldest = this.#entries.keys();
      ({ value } = this.#oldest.next());
    }
    this.#entries.delete(value as K);
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  get size(): number {
    return this.#entries.size;
  }
}
