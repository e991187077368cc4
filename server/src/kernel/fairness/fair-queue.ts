import { SECOND_MS } from '../base/clock.ts';
import { CofferError, unavailable } from '../base/errors.ts';
import { type QueueUse, WaitTimes } from './queue-use.ts';
import { RoundRobin } from './round-robin.ts';

/** The key for the service's own work, which belongs to no tenant: only the number of slots limits it. */
export const SERVICE = '';

export interface FairQueueLimits {
  /** What the slots are for, as named in the error: "transactions". */
  of: string;
  /** Concurrent users in this process. */
  slots: number;
  /** Concurrent users of one tenant, so that the other slots stay available to other tenants. */
  perTenant: number;
  waitingPerTenant: number;
  /** Over all tenants. */
  waitingMax: number;
  waitMs: number;
  /** Slots are normally held for much less than `waitMs`: if none is released during a whole wait, the resource is stuck, and the wait ends with 503. */
  isQuick?: boolean;
  /** The code of the error that causes a 503, from which the log derives what the operator can do. */
  busyCode?: string;
}

interface Waiter {
  admit(): void;
}

const RETRY_AFTER_SECONDS = 2;

/**
 * Slots that tenants share. Callers wait if none is free; tenants take turns, and the requests of one tenant are served in order. A tenant over its
 * own limits gets 429; 503 means that others hold every slot, or that the resource is stuck.
 */
export class FairQueue implements QueueUse {
  readonly waits = new WaitTimes();
  readonly #limits: FairQueueLimits;
  readonly #running = new Map<string, number>();
  readonly #waiting = new RoundRobin<Waiter>();
  #free: number;
  #released = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
    this.#free = limits.slots;
  }

  get of(): string {
    return this.#limits.of;
  }

  get slots(): number {
    return this.#limits.slots;
  }

  get inUse(): number {
    return this.#limits.slots - this.#free;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Takes a slot: at once if it returns undefined, or when the promise resolves. Each slot is released by one `leave`. */
  enter(tenantId: string): Promise<void> | undefined {
    if (this.#free > 0 && this.#mayRun(tenantId)) {
      this.#take(tenantId);
      return undefined;
    }
    return this.#wait(tenantId);
  }

  leave(tenantId: string): void {
    const running = (this.#running.get(tenantId) ?? 0) - 1;
    if (running > 0) this.#running.set(tenantId, running);
    else this.#running.delete(tenantId);
    this.#free++;
    this.#released++;
    if (this.#waiting.size > 0) this.#admitNext();
  }

  async run<T>(tenantId: string, task: () => Promise<T>): Promise<T> {
    const entering = this.enter(tenantId);
    if (entering !== undefined) await entering;
    try {
      return await task();
    } finally {
      this.leave(tenantId);
    }
  }

  #mayRun = (tenantId: string): boolean =>
    tenantId === SERVICE || (this.#running.get(tenantId) ?? 0) < this.#limits.perTenant;

  #take(tenantId: string): void {
    this.#free--;
    this.#running.set(tenantId, (this.#running.get(tenantId) ?? 0) + 1);
  }

  #admitNext(): void {
    while (this.#free > 0) {
      const next = this.#waiting.shift(this.#mayRun);
      if (next === undefined) return;
      next.admit();
    }
  }

  #wait(tenantId: string): Promise<void> {
    const { waitingPerTenant, waitingMax, waitMs, isQuick = false } = this.#limits;
    const isFull = this.#waiting.size >= waitingMax || this.#waiting.sizeOf(tenantId) >= waitingPerTenant;
    if (isFull) {
      this.waits.refused++;
      return Promise.reject(this.#refusal(tenantId));
    }
    const since = performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = {
      admit: () => {
        clearTimeout(timer);
        this.waits.observe((performance.now() - since) / SECOND_MS);
        this.#take(tenantId);
        resolve();
      },
    };
    const releasedBefore = this.#released;
    const timer = setTimeout(() => {
      this.#waiting.remove(tenantId, waiter);
      this.waits.observe(waitMs / SECOND_MS);
      this.waits.refused++;
      const isStuck = isQuick && this.#released === releasedBefore;
      reject(isStuck ? this.#busy() : this.#refusal(tenantId));
    }, waitMs);
    this.#waiting.push(tenantId, waiter);
    return promise;
  }

  #busy(): CofferError {
    const { of, busyCode } = this.#limits;
    const cause = busyCode && Object.assign(new Error(`waited too long for ${of}`), { code: busyCode });
    return unavailable(`The service is busy with ${of}: try again shortly.`, cause);
  }

  #refusal(tenantId: string): CofferError {
    const { of } = this.#limits;
    if (tenantId === SERVICE || this.#mayRun(tenantId)) return this.#busy();
    const message = `Your tenant has too many ${of} at the same time: wait for some to end, and send fewer at a time.`;
    const auditReason = `too many ${of} at once`;
    return new CofferError('RATE_LIMIT_EXCEEDED', message, { retryAfterSeconds: RETRY_AFTER_SECONDS, auditReason });
  }
}
