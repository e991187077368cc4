import fc from 'fast-check';

/** Every choice of a run comes from here, so that a seed repeats the run. */
export class Random {
  readonly seed: number;
  #state: number;
  readonly #matching = new Map<string, string[]>();

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed >>> 0;
  }

  /** From 0 to 1, without 1: mulberry32, which is small, and good enough to choose by. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Both ends included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new Error('nothing to pick from');
    return from[Math.floor(this.next() * from.length)] as T;
  }

  shuffled<T>(items: readonly T[]): T[] {
    const all = [...items];
    for (let i = all.length - 1; i > 0; i--) {
      const j = this.integer(0, i);
      [all[i], all[j]] = [all[j] as T, all[i] as T];
    }
    return all;
  }

  text(alphabet: string, length: number): string {
    let made = '';
    for (let i = 0; i < length; i++) made += alphabet[this.integer(0, alphabet.length - 1)];
    return made;
  }

  /** A text that a pattern allows. Made some at a time: to take a pattern apart costs more than to follow it. */
  matching(pattern: string): string {
    let samples = this.#matching.get(pattern);
    if (samples === undefined) {
      const arbitrary = fc.stringMatching(new RegExp(pattern, 'u'), { size: 'small' });
      samples = fc.sample(arbitrary, { seed: this.seed, numRuns: 40 });
      this.#matching.set(pattern, samples);
    }
    return this.pick(samples);
  }
}
