import type { CallOptions, Connection } from './connection.ts';
import { CofferError } from './errors.ts';
import { pages } from './pages.ts';
import { redacted } from './redacted.ts';
import type { Schemas } from './routes.ts';

export class Environments {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async *list(options: CallOptions = {}): AsyncGenerator<Schemas['ComposedEnvironment']> {
    for await (const page of pages(this.#connection, 'GET /environments', {}, options)) yield* page.environments;
  }

  /** What is in effect in an environment, named by id or name: its own entries over those of its ancestors, with the values that the caller may read. */
  async compose(environment: string | number, options: CallOptions & { resolve?: boolean } = {}) {
    const { resolve = true, ...call } = options;
    const environment_id = await this.#numberOf(environment, call);
    const composed = await this.#connection.call(
      'GET /environments/{environment_id}/compose',
      { path: { environment_id }, query: { resolve } },
      call,
    );
    const entries = Object.entries(composed.effective).map(
      ([name, { value, ...facts }]) => [name, redacted(facts, value)] as const,
    );
    return { ...composed, effective: Object.fromEntries(entries) };
  }

  async #numberOf(environment: string | number, options: CallOptions): Promise<string> {
    if (/^[1-9]\d*$/.test(String(environment))) return String(environment);
    for await (const { id, name } of this.list(options)) if (name === environment) return String(id);
    throw new CofferError(`There is no composed environment named ${environment}.`, { code: 'NOT_FOUND', status: 404 });
  }
}
