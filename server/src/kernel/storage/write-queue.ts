import { SECOND_MS } from '../base/clock.ts';
import { type QueueUse, WaitTimes } from '../fairness/queue-use.ts';
import { RoundRobin } from '../fairness/round-robin.ts';
import type { Tx } from './database.ts';

/** A transaction that waits for the writing connection. */
export interface Queued {
  fn(tx: Tx): Promise<unknown>;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  /** When it was queued, by `performance.now`. */
  since: number;
}

/** Transactions of one kind that wait for the only writing connection of SQLite. */
export class WriteQueue implements QueueUse {
  readonly of: string;
  readonly slots = 1;
  readonly waits = new WaitTimes();
  inUse = 0;
  readonly #queued = new RoundRobin<Queued>();

  constructor(of: string) {
    this.of = of;
  }

  get waiting(): number {
    return this.#queued.size;
  }

  push(tenantId: string, transaction: Queued): void {
    this.#queued.push(tenantId, transaction);
  }

  /** Takes those whose turn it is, in order, up to `most`. */
  take(most: number): Queued[] {
    const now = performance.now();
    const batch = Array.from({ length: Math.min(this.waiting, most) }, () => this.#queued.shift() as Queued);
    for (const { since } of batch) this.waits.observe((now - since) / SECOND_MS);
    return batch;
  }
}
