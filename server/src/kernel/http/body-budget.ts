/**
 * The bytes that may be in memory at the same time: in total, and for one holder, which is a tenant or an address, so that none can use up the total.
 */
export interface BodyBudgetLimits {
  totalBytes: number;
  shareBytes: number;
}

export type BodyRefusal = 'total' | 'share';

/** Counts the bytes of request bodies that are in memory. */
export class BodyBudget {
  readonly #limits: BodyBudgetLimits;
  readonly #bytesByHolder = new Map<string, number>();
  #held = 0;

  constructor(limits: BodyBudgetLimits) {
    this.#limits = limits;
  }

  /** Returns null if the bytes may be held. Otherwise nothing is counted, and the result names the limit that was reached. */
  take(holder: string, bytes: number): BodyRefusal | null {
    const held = this.#bytesByHolder.get(holder) ?? 0;
    if (held + bytes > this.#limits.shareBytes) return 'share';
    if (this.#held + bytes > this.#limits.totalBytes) return 'total';
    this.#bytesByHolder.set(holder, held + bytes);
    this.#held += bytes;
    return null;
  }

  release(holder: string, bytes: number): void {
    const left = (this.#bytesByHolder.get(holder) ?? 0) - bytes;
    if (left > 0) this.#bytesByHolder.set(holder, left);
    else this.#bytesByHolder.delete(holder);
    this.#held -= bytes;
  }

  get held(): number {
    return this.#held;
  }

  get holders(): number {
    return this.#bytesByHolder.size;
  }
}
