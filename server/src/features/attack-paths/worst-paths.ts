/** The worst of many, in bounded memory: whatever scores no higher than the last of a full list is left out. */
export class Worst<T extends { score: number; id: string }> {
  readonly #max: number;
  #items: T[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** Whether something with this score could still enter. */
  accepts(score: number): boolean {
    return score > 0 && (this.#items.length < this.#max || score > this.#least);
  }

  add(item: T): void {
    if (!this.accepts(item.score) || this.#items.some(({ id }) => id === item.id)) return;
    const at = this.#items.findIndex((other) => isBefore(item, other));
    this.#items.splice(at === -1 ? this.#items.length : at, 0, item);
    this.#items = this.#items.slice(0, this.#max);
  }

  /** The worst first. */
  get items(): readonly T[] {
    return this.#items;
  }

  get #least(): number {
    return this.#items.at(-1)?.score ?? 0;
  }
}

/** Equal scores are in the order of their ids, so that a list is the same each time. */
export function isBefore(a: { score: number; id: string }, b: { score: number; id: string }): boolean {
  return a.score > b.score || (a.score === b.score && a.id < b.id);
}
