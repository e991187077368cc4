import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Tells loops that wait because nothing happens that something did: this process recorded an entry in the audit log, which every change and most
 * reads do. Work that another node made is found when the wait ends.
 */
export class Activity {
  #count = 0;
  readonly #waiting = new Set<() => void>();

  /** Increases whenever something happens. */
  get count(): number {
    return this.#count;
  }

  happened(): void {
    this.#count++;
    for (const wake of this.#waiting) wake();
  }

  /** Resolves after `ms`, when the signal is aborted, or as soon as something has happened since `count`. */
  async since(count: number, ms: number, signal?: AbortSignal): Promise<void> {
    if (this.#count !== count || signal?.aborted === true) return;
    const woken = new AbortController();
    const wake = () => woken.abort();
    this.#waiting.add(wake);
    const ends = signal === undefined ? woken.signal : AbortSignal.any([woken.signal, signal]);
    await sleep(ms, undefined, { signal: ends }).catch(() => {});
    this.#waiting.delete(wake);
  }
}

/** How long a loop waits between looks: longer and longer while it finds nothing and nothing happens here. */
export class IdleWait {
  readonly #leastMs: number;
  readonly #mostMs: number;
  #ms: number;

  constructor(leastMs: number, mostMs: number) {
    this.#leastMs = leastMs;
    this.#mostMs = mostMs;
    this.#ms = leastMs;
  }

  /** The wait after a look; `isIdle` if it found nothing and nothing happened since the one before. */
  next(isIdle: boolean): number {
    this.#ms = isIdle ? Math.min(this.#ms * 2, this.#mostMs) : this.#leastMs;
    return this.#ms;
  }
}
