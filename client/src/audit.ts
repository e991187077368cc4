import { type CallOptions, type Connection, sleep } from './connection.ts';
import { collected, pages } from './pages.ts';
import type { RouteInput, Schemas } from './routes.ts';

export type AuditFilter = Omit<NonNullable<RouteInput<'GET /v1/audit'>['query']>, 'cursor' | 'limit'>;

const TAIL_INTERVAL_MS = 2_000;

export class Audit {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Entries, newest first. */
  async *list(filter: AuditFilter = {}, options: CallOptions = {}): AsyncGenerator<Schemas['AuditEntry']> {
    for await (const page of pages(this.#connection, 'GET /v1/audit', { query: filter }, options)) yield* page.entries;
  }

  /** Entries from now on, oldest first, until the signal says stop. */
  async *tail(
    filter: AuditFilter = {},
    { intervalMs = TAIL_INTERVAL_MS, ...options }: CallOptions & { intervalMs?: number } = {},
  ): AsyncGenerator<Schemas['AuditEntry']> {
    let last = (await this.list(filter, options).next()).value?.id ?? null;
    for (;;) {
      await sleep(intervalMs, options.signal);
      const fresh = await collected(this.#until(last, filter, options));
      last = fresh[0]?.id ?? last;
      yield* fresh.toReversed();
    }
  }

  async *#until(id: string | null, filter: AuditFilter, options: CallOptions): AsyncGenerator<Schemas['AuditEntry']> {
    for await (const entry of this.list(filter, options)) {
      if (entry.id === id) return;
      yield entry;
    }
  }
}
