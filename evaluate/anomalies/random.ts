import { seededRandom } from '../../server/src/features/anomalies/models/seeded-random.ts';

/** Draws that are the same for the same seed. */
export class Draws {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seededRandom(seed);
  }

  /** Independent draws for one purpose, so that a change in one part of the simulation does not change the others. */
  static for(seed: number, ...purpose: (string | number)[]): Draws {
    let hash = (2_166_136_261 ^ seed) >>> 0;
    for (const char of purpose.join('/')) hash = Math.imul(hash ^ char.charCodeAt(0), 16_777_619) >>> 0;
    return new Draws(hash);
  }

  chance(probability: number): boolean {
    return this.#next() < probability;
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.#next() * (high - low + 1));
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[Math.floor(this.#next() * list.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }

  some<T>(list: readonly T[], count: number): T[] {
    const pool = [...list];
    for (let i = 0; i < Math.min(count, pool.length); i++) {
      const j = i + Math.floor(this.#next() * (pool.length - i));
      [pool[i], pool[j]] = [pool[j] as T, pool[i] as T];
    }
    return pool.slice(0, count);
  }

  /** The number of events in a time in which `mean` are usual (Knuth's method; the means here are small). */
  poisson(mean: number): number {
    const limit = Math.exp(-mean);
    let product = this.#next();
    let events = 0;
    for (; product > limit; events++) product *= this.#next();
    return events;
  }
}
