import { MINUTE_MS, SECOND_MS } from '../base/clock.ts';
import { SlidingWindow } from './sliding-window.ts';

export const WINDOW_MS = MINUTE_MS;
/** The maximum number of counters. Further keys with the same limit share one, so that a flood of addresses cannot exhaust memory. */
const KEYS_MAX = 100_000;
const OVERFLOW_KEY = 'overflow';
/** Up to this limit requests are counted per millisecond, above it per `RESOLUTION_MS`, so that a counter stays small. */
const EXACT_LIMIT_MAX = 1000;
export const RESOLUTION_MS = 100;
/** A counter is shared with other nodes once this fraction of its limit is used. */
const SHARING_THRESHOLD = 0.05;
/** Nodes share one count for each interval of this length. */
export const SHARED_INTERVAL_MS = 5 * SECOND_MS;

export interface RateState {
  limit: number;
  remaining: number;
  /** Unix time in seconds at which the whole limit is available again, if no request is sent until then. */
  resetSeconds: number;
  /** Seconds until a request passes again; 0 unless `isExceeded`. */
  retryAfterSeconds: number;
  isExceeded: boolean;
}

interface Counter {
  readonly own: SlidingWindow;
  /** Requests that other nodes let pass, as far as they have shared them. */
  otherNodes: SlidingWindow | null;
  limit: number;
  /** Everything before this time was shared with other nodes. */
  sharedUntil: number;
}

/** The requests that one node let pass from `start` on, for `SHARED_INTERVAL_MS`. */
export interface SharedCount {
  key: string;
  start: number;
  used: number;
}

/**
 * Counts the requests that pass, in memory, and lets no more than the limit pass in any interval of a minute. A request counts for one minute, to
 * the millisecond, or for up to `RESOLUTION_MS` longer if the limit is high. rate-sharing.ts adds the requests of other nodes.
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
  peek(key: string, limit: number, now: number): RateState {
    return stateOf(this.#counter(key, limit, now), now, false);
  }

  #counter(key: string, limit: number, now: number): Counter {
    let counter = this.#counters.get(key);
    if (counter === undefined) {
      this.#sweep(now);
      const overflow = `${OVERFLOW_KEY} ${limit}`;
      if (this.#counters.size >= KEYS_MAX && key !== overflow) return this.#counter(overflow, limit, now);
      counter = { own: new SlidingWindow(), otherNodes: null, limit, sharedUntil: 0 };
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

  /** The keys to share with other nodes, and their counts not shared yet. The count of an interval is sent again until the interval is over. */
  countsToShare(now: number): { keys: string[]; counts: SharedCount[] } {
    const keys: string[] = [];
    const counts: SharedCount[] = [];
    for (const [key, counter] of this.#counters) {
      expire(counter, now);
      const { own, limit } = counter;
      if (own.used === 0 || own.used < limit * SHARING_THRESHOLD) continue;
      keys.push(key);
      counts.push(...unsharedCounts(key, counter));
    }
    return { keys, counts };
  }

  /** Marks the counts as shared at this time. Intervals that were over by then never change. */
  markShared(counts: readonly SharedCount[], now: number): void {
    for (const { key } of counts) {
      const counter = this.#counters.get(key);
      if (counter !== undefined) counter.sharedUntil = intervalStart(now);
    }
  }

  /** Replaces the counts of the other nodes for a key. They must be in time order. */
  setOtherNodes(key: string, counts: readonly Omit<SharedCount, 'key'>[]): void {
    const counter = this.#counters.get(key);
    if (counter === undefined) return;
    counter.otherNodes = new SlidingWindow();
    for (const { start, used } of counts) counter.otherNodes.add(start + SHARED_INTERVAL_MS + WINDOW_MS, used);
  }
}

function usedBy({ own, otherNodes }: Counter): number {
  return otherNodes === null ? own.used : own.used + otherNodes.used;
}

/**
 * A clock set back by more than a window would freeze the counter, so it is cleared. If set back by less, nothing expires until the clock catches
 * up.
 */
function expire({ own, otherNodes }: Counter, now: number): void {
  if (own.end > now + 2 * WINDOW_MS) own.clear();
  own.expire(now);
  otherNodes?.expire(now);
}

/** The time until which a request made at `time` counts. */
function endOf(time: number, limit: number): number {
  if (limit <= EXACT_LIMIT_MAX) return time + WINDOW_MS;
  return time - (time % RESOLUTION_MS) + RESOLUTION_MS + WINDOW_MS;
}

function intervalStart(time: number): number {
  return time - (time % SHARED_INTERVAL_MS);
}

function stateOf(counter: Counter, now: number, isExceeded: boolean): RateState {
  const { own, otherNodes, limit } = counter;
  const end = Math.max(own.end, otherNodes?.end ?? 0, now);
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
  const [own, otherNodes] = [counter.own.entries(), counter.otherNodes?.entries()];
  let [mine, theirs] = [own.next().value, otherNodes?.next().value];
  for (let used = usedBy(counter); ; ) {
    const isMine = mine !== undefined && (theirs === undefined || mine[0] <= theirs[0]);
    const next = isMine ? mine : theirs;
    // A limit of 0 lets nothing pass.
    if (next === undefined) return now + WINDOW_MS;
    used -= next[1];
    if (used < counter.limit) return next[0];
    if (isMine) mine = own.next().value;
    else theirs = otherNodes?.next().value;
  }
}

function* unsharedCounts(key: string, { own, sharedUntil }: Counter): Generator<SharedCount> {
  const usedByStart = new Map<number, number>();
  for (const [end, count] of own.entries()) {
    const start = intervalStart(end - WINDOW_MS);
    if (start >= sharedUntil) usedByStart.set(start, (usedByStart.get(start) ?? 0) + count);
  }
  for (const [start, used] of usedByStart) yield { key, start, used };
}
