import { MINUTE_MS, SECOND_MS } from '../clock.ts';

/** Keys counted at a time; beyond it, callers with the same limit share one counter, so that a flood of addresses costs no memory. */
const KEYS_MAX = 100_000;
const OVERFLOW_KEY = 'overflow';
/** A counter is worth telling other nodes about once it has used this share of its limit. */
const SHARED_FROM = 0.05;

export interface RateState {
  limit: number;
  remaining: number;
  /** Unix time in seconds at which the window ends. */
  resetSeconds: number;
  retryAfterSeconds: number;
  isExceeded: boolean;
}

interface Counter {
  used: number;
  usedElsewhere: number;
  limit: number;
}

export interface SharedCount {
  key: string;
  used: number;
}

/** Counts requests in windows of one minute, in memory. What other nodes counted is added in by rate-sharing.ts. */
export class RateLimiter {
  #windowStart = 0;
  readonly #counters = new Map<string, Counter>();

  get windowStart(): number {
    return this.#windowStart;
  }

  take(key: string, limit: number, now: number): RateState {
    const counter = this.#counter(key, limit, now);
    counter.used++;
    return this.#state(counter, now);
  }

  #counter(key: string, limit: number, now: number): Counter {
    this.#openWindow(now);
    let counter = this.#counters.get(key);
    if (counter === undefined) {
      const overflow = `${OVERFLOW_KEY} ${limit}`;
      if (this.#counters.size >= KEYS_MAX && key !== overflow) return this.#counter(overflow, limit, now);
      counter = { used: 0, usedElsewhere: 0, limit };
      this.#counters.set(key, counter);
    }
    counter.limit = limit;
    return counter;
  }

  #openWindow(now: number): void {
    if (now - this.#windowStart < MINUTE_MS && now >= this.#windowStart) return;
    this.#windowStart = now - (now % MINUTE_MS);
    this.#counters.clear();
  }

  #state(counter: Counter, now: number): RateState {
    const used = counter.used + counter.usedElsewhere;
    const end = this.#windowStart + MINUTE_MS;
    return {
      limit: counter.limit,
      remaining: Math.max(0, counter.limit - used),
      resetSeconds: Math.ceil(end / SECOND_MS),
      retryAfterSeconds: Math.max(1, Math.ceil((end - now) / SECOND_MS)),
      isExceeded: used > counter.limit,
    };
  }

  /** What other nodes should know of. */
  shared(): SharedCount[] {
    const counts: SharedCount[] = [];
    for (const [key, { used, limit }] of this.#counters) {
      if (used > 0 && used >= limit * SHARED_FROM) counts.push({ key, used });
    }
    return counts;
  }

  learn(windowStart: number, key: string, usedElsewhere: number): void {
    const counter = this.#counters.get(key);
    if (windowStart === this.#windowStart && counter !== undefined) counter.usedElsewhere = usedElsewhere;
  }
}
