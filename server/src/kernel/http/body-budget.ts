/** Bytes that may be held at the same time. Each payer, a tenant or an address, has a share, so that none can hold all of it. */
export interface BodyBudgetLimits {
  totalBytes: number;
  shareBytes: number;
}

export type BodyRefusal = 'total' | 'share';

/** Counts the bytes of request bodies that are in memory. */
export class BodyBudget {
  readonly #limits: BodyBudgetLimits;
  readonly #byPayer = new Map<string, number>();
  #held = 0;

  constructor(limits: BodyBudgetLimits) {
    this.#limits = limits;
  }

  /** Returns null if the bytes may be held. Otherwise nothing is counted, and the result names the limit that was reached. */
  take(payer: string, bytes: number): BodyRefusal | null {
    const held = this.#byPayer.get(payer) ?? 0;
    if (held + bytes > this.#limits.shareBytes) return 'share';
    if (this.#held + bytes > this.#limits.totalBytes) return 'total';
    this.#byPayer.set(payer, held + bytes);
    this.#held += bytes;
    return null;
  }

  release(payer: string, bytes: number): void {
    const left = (this.#byPayer.get(payer) ?? 0) - bytes;
    if (left > 0) this.#byPayer.set(payer, left);
    else this.#byPayer.delete(payer);
    this.#held -= bytes;
  }

  get held(): number {
    return this.#held;
  }

  get payers(): number {
    return this.#byPayer.size;
  }
}
