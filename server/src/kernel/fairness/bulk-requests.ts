import { FairQueue, type FairQueueLimits } from './fair-queue.ts';

/**
 * Limits for bulk requests, from their start until the last byte of the response is written. They bound the number of open streams, in total and
 * per tenant, even if clients do not read them.
 */
const LIMITS: FairQueueLimits = {
  of: 'bulk requests',
  slots: 64,
  perTenant: 8,
  waitingPerTenant: 256,
  waitingMax: 4096,
  waitMs: 10_000,
};

export class BulkRequests {
  readonly #queue = new FairQueue(LIMITS);

  async enter(tenantId: string): Promise<BulkRequest> {
    const entering = this.#queue.enter(tenantId);
    if (entering !== undefined) await entering;
    return new BulkRequest(() => this.#queue.leave(tenantId));
  }
}

export class BulkRequest {
  #leave: (() => void) | null;
  #isStreaming = false;

  constructor(leave: () => void) {
    this.#leave = leave;
  }

  /** Passes the pieces on and ends the request after the last one. The consumer must start to read them, or call `return`. */
  until(pieces: AsyncIterable<string>): AsyncIterable<string> {
    this.#isStreaming = true;
    return { [Symbol.asyncIterator]: () => this.#iterator(pieces[Symbol.asyncIterator]()) };
  }

  #iterator(pieces: AsyncIterator<string>): AsyncIterator<string> {
    return {
      next: async () => {
        try {
          const piece = await pieces.next();
          if (piece.done) this.#end();
          return piece;
        } catch (error) {
          this.#end();
          throw error;
        }
      },
      return: async () => {
        this.#end();
        await pieces.return?.();
        return { done: true, value: undefined };
      },
    };
  }

  /** Called when the handler has ended. The request ends too, unless its response is still streaming. */
  handled(): void {
    if (!this.#isStreaming) this.#end();
  }

  #end(): void {
    this.#leave?.();
    this.#leave = null;
  }
}
