/** No longer than an answer is on its way anyway, waiting for its audit entry. */
const MOMENT_MS = 2;

/** Keeps what was worked out for a moment: for those who ask at the same time, and for nobody later. */
export class Moment<K, V> {
  readonly #known = new Map<K, V>();

  get(key: K): V | undefined {
    return this.#known.get(key);
  }

  set(key: K, value: V): void {
    if (this.#known.size === 0) setTimeout(() => this.#known.clear(), MOMENT_MS);
    this.#known.set(key, value);
  }
}
