/** Waiting items by tenant. Tenants take turns, and the items of one tenant are served in order. */
export class RoundRobin<T> {
  /** In the order of turns: a tenant that was served moves to the end. */
  readonly #queues = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(tenantId: string): number {
    return this.#queues.get(tenantId)?.length ?? 0;
  }

  push(tenantId: string, item: T): void {
    const queue = this.#queues.get(tenantId);
    if (queue === undefined) this.#queues.set(tenantId, [item]);
    else queue.push(item);
    this.#size++;
  }

  /** Returns the next item of the next tenant that is allowed a turn. */
  shift(mayHaveTurn: (tenantId: string) => boolean = () => true): T | undefined {
    for (const [tenantId, queue] of this.#queues) {
      if (!mayHaveTurn(tenantId)) continue;
      const item = queue.shift() as T;
      this.#size--;
      this.#queues.delete(tenantId);
      if (queue.length > 0) this.#queues.set(tenantId, queue);
      return item;
    }
    return undefined;
  }

  /** Removes an item that no longer waits. */
  remove(tenantId: string, item: T): void {
    const queue = this.#queues.get(tenantId);
    const at = queue?.indexOf(item) ?? -1;
    if (queue === undefined || at === -1) return;
    queue.splice(at, 1);
    this.#size--;
    if (queue.length === 0) this.#queues.delete(tenantId);
  }
}
