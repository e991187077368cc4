import { FairQueue, type FairQueueLimits } from './fair-queue.ts';

/**
 * Requests that read or change much, from their start until the last byte of the answer is written. So many streams there are at most, and so many
 * of one tenant, whether or not anybody reads them.
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

  /** The same pieces; the request ends with them. Whoever is given them must begin to read them, or call `return`. */
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

  /** The handler has ended: so has the request, unless its answer is still to be written. */
  handled(): void {
    if (!this.#isStreaming) this.#end();
  }

  #end(): void {
    this.#leave?.();
    this.#leave = null;
  }
}
