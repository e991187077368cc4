/** Expired entries are removed only in batches of this size, because each removal copies a whole list. */
const GONE_MAX = 64;

/** Counts, each with the time until which it counts. One that would end before the last one ends with it. */
export class SlidingWindow {
  readonly #ends: number[] = [];
  readonly #counts: number[] = [];
  #first = 0;
  #used = 0;

  get used(): number {
    return this.#used;
  }

  /** When everything will have expired; 0 if it is empty. */
  get end(): number {
    return this.#first < this.#ends.length ? (this.#ends.at(-1) as number) : 0;
  }

  add(end: number, count: number): void {
    const last = this.#ends.length - 1;
    if (last >= this.#first && (this.#ends[last] as number) >= end) {
      this.#counts[last] = (this.#counts[last] as number) + count;
    } else {
      this.#ends.push(end);
      this.#counts.push(count);
    }
    this.#used += count;
  }

  expire(now: number): void {
    while (this.#first < this.#ends.length && (this.#ends[this.#first] as number) <= now) {
      this.#used -= this.#counts[this.#first] as number;
      this.#first++;
    }
    if (this.#first >= GONE_MAX && this.#first * 2 >= this.#ends.length) {
      this.#ends.splice(0, this.#first);
      this.#counts.splice(0, this.#first);
      this.#first = 0;
    }
  }

  clear(): void {
    this.#ends.length = 0;
    this.#counts.length = 0;
    this.#first = 0;
    this.#used = 0;
  }

  *entries(): Generator<[end: number, count: number], undefined> {
    for (let i = this.#first; i < this.#ends.length; i++) yield [this.#ends[i] as number, this.#counts[i] as number];
    return undefined;
  }
}
