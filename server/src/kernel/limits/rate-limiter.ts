import { MINUTE_MS, SECOND_MS } from '../clock.ts';
import { SlidingWindow } from './sliding-window.ts';

export const WINDOW_MS = MINUTE_MS;
/** Keys counted at the same time. Beyond it, callers with the same limit share one counter, so that a flood of addresses costs no memory. */
const KEYS_MAX = 100_000;
const OVERFLOW_KEY = 'overflow';
/**
 * Up to this limit each request is counted with its own millisecond. Above it, requests are counted per `GRAIN_MS`, so that a counter stays small.
 */
const EXACT_MAX = 1000;
export const GRAIN_MS = 100;
/** A counter is shared with other nodes once it has used this share of its limit. */
const SHARED_FROM = 0.05;
/** Nodes share counts of intervals of this length. */
export const SHARED_SPAN_MS = 5 * SECOND_MS;

export interface RateState {
  limit: number;
  remaining: number;
  /** Unix time in seconds at which the whole limit is available again, if no request is sent until then. */
  resetSeconds: number;
  /** Seconds until a request passes again; meant for a refused one. */
  retryAfterSeconds: number;
  isExceeded: boolean;
}

interface Counter {
  readonly own: SlidingWindow;
  /** Known requests that other nodes let pass. */
  elsewhere: SlidingWindow | null;
  limit: number;
  /** Everything before this time was shared with other nodes. */
  sharedUntil: number;
}

/** The requests that one node let pass from `start` on, for `SHARED_SPAN_MS`. */
export interface SharedCount {
  key: string;
  start: number;
  used: number;
}

/**
 * Counts the requests that pass, in memory, and lets no more than the limit pass in any interval of a minute. A request counts for one minute, to
 * the millisecond, or for up to `GRAIN_MS` longer if the limit is high. rate-sharing.ts adds the requests of other nodes.
 */
export class RateLimiter {
  readonly #counters = new Map<string, Counter>();
  #sweptAt = 0;

  /** Counts a request, unless the limit is exceeded. */
  take(key: string, limit: number, now: number): RateState {
    const counter = this.#counter(key, limit, now);
    const isExceeded = usedBy(counter) >= limit;
    if (!isExceeded) counter.own.add(endOf(now, limit), 1);
    return stateOf(counter, now, isExceeded);
  }

  /** Returns the current state without counting a request. */
  look(key: string, limit: number, now: number): RateState {
    return stateOf(this.#counter(key, limit, now), now, false);
  }

  #counter(key: string, limit: number, now: number): Counter {
    let counter = this.#counters.get(key);
    if (counter === undefined) {
      this.#sweep(now);
      const overflow = `${OVERFLOW_KEY} ${limit}`;
      if (this.#counters.size >= KEYS_MAX && key !== overflow) return this.#counter(overflow, limit, now);
      counter = { own: new SlidingWindow(), elsewhere: null, limit, sharedUntil: 0 };
      this.#counters.set(key, counter);
      return counter;
    }
    counter.limit = limit;
    expire(counter, now);
    return counter;
  }

  /** Runs only for a new key and rarely, because it visits every counter. */
  #sweep(now: number): void {
    const pause = this.#counters.size >= KEYS_MAX ? SECOND_MS : WINDOW_MS;
    if (now >= this.#sweptAt && now < this.#sweptAt + pause) return;
    this.#sweptAt = now;
    for (const [key, counter] of this.#counters) {
      expire(counter, now);
      if (usedBy(counter) === 0) this.#counters.delete(key);
    }
  }

  /** The keys that other nodes should know about, with counts that are not shared yet. An interval is shared again until it is over. */
  shared(now: number): { keys: string[]; counts: SharedCount[] } {
    const keys: string[] = [];
    const counts: SharedCount[] = [];
    for (const [key, counter] of this.#counters) {
      expire(counter, now);
      const { own, limit } = counter;
      if (own.used === 0 || own.used < limit * SHARED_FROM) continue;
      keys.push(key);
      counts.push(...untold(key, counter));
    }
    return { keys, counts };
  }

  /** Marks the counts as shared at this time. Intervals that were over by then never change. */
  told(counts: readonly SharedCount[], now: number): void {
    for (const { key } of counts) {
      const counter = this.#counters.get(key);
      if (counter !== undefined) counter.sharedUntil = spanOf(now);
    }
  }

  /** Sets everything other nodes have shared about a key, in time order. */
  learn(key: string, counts: readonly Omit<SharedCount, 'key'>[]): void {
    const counter = this.#counters.get(key);
    if (counter === undefined) return;
    counter.elsewhere = new SlidingWindow();
    for (const { start, used } of counts) counter.elsewhere.add(start + SHARED_SPAN_MS + WINDOW_MS, used);
  }
}

function usedBy({ own, elsewhere }: Counter): number {
  return elsewhere === null ? own.used : own.used + elsewhere.used;
}

/**
 * A clock set back by more than a window would freeze the counter, so it is cleared. If set back by less, nothing expires until the clock catches
 * up.
 */
function expire({ own, elsewhere }: Counter, now: number): void {
  if (own.end > now + 2 * WINDOW_MS) own.clear();
  own.expire(now);
  elsewhere?.expire(now);
}

/** The time until which a request made at `time` counts. */
function endOf(time: number, limit: number): number {
  if (limit <= EXACT_MAX) return time + WINDOW_MS;
  return time - (time % GRAIN_MS) + GRAIN_MS + WINDOW_MS;
}

function spanOf(time: number): number {
  return time - (time % SHARED_SPAN_MS);
}

function stateOf(counter: Counter, now: number, isExceeded: boolean): RateState {
  const { own, elsewhere, limit } = counter;
  const end = Math.max(own.end, elsewhere?.end ?? 0, now);
  return {
    limit,
    remaining: Math.max(0, limit - usedBy(counter)),
    resetSeconds: Math.ceil(end / SECOND_MS),
    retryAfterSeconds: isExceeded ? Math.max(1, Math.ceil((freeAt(counter, now) - now) / SECOND_MS)) : 0,
    isExceeded,
  };
}

/** The time at which enough has expired for one more request to pass. */
function freeAt(counter: Counter, now: number): number {
  const [own, elsewhere] = [counter.own.entries(), counter.elsewhere?.entries()];
  let [mine, theirs] = [own.next().value, elsewhere?.next().value];
  for (let used = usedBy(counter); ; ) {
    const isMine = mine !== undefined && (theirs === undefined || mine[0] <= theirs[0]);
    const next = isMine ? mine : theirs;
    // A limit of 0 lets nothing pass.
    if (next === undefined) return now + WINDOW_MS;
    used -= next[1];
    if (used < counter.limit) return next[0];
    if (isMine) mine = own.next().value;
    else theirs = elsewhere?.next().value;
  }
}

function* untold(key: string, { own, sharedUntil }: Counter): Generator<SharedCount> {
  const spans = new Map<number, number>();
  for (const [end, count] of own.entries()) {
    const start = spanOf(end - WINDOW_MS);
    if (start >= sharedUntil) spans.set(start, (spans.get(start) ?? 0) + count);
  }
  for (const [start, used] of spans) yield { key, start, used };
}
