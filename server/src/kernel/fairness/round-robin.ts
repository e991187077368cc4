/** Items that wait, by tenant: tenants take turns, and inside one tenant the first to come is the first to be served. */
export class RoundRobin<T> {
  /** In the order of turns: whoever was served goes to the end. */
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

  /** The next item, of the next tenant that may have a turn now. */
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

  /** For whoever waits no longer. */
  remove(tenantId: string, item: T): void {
    const queue = this.#queues.get(tenantId);
    const at = queue?.indexOf(item) ?? -1;
    if (queue === undefined || at === -1) return;
    queue.splice(at, 1);
    this.#size--;
    if (queue.length === 0) this.#queues.delete(tenantId);
  }
}
