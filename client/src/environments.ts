import type { CallOptions, Connection } from './connection.ts';
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

  /** What is in effect in an environment, named by id or name: its own entries over those of its ancestors, with the values that the caller may read. Of a zero-knowledge secret it is the envelope, with `sealed`. */
  async compose(environment: string | number, options: CallOptions & { resolve?: boolean } = {}) {
    const { resolve = true, ...call } = options;
    const input = { path: { environment_id: String(environment) }, query: { resolve } };
    const answer = await this.#connection.call('GET /environments/{environment_id}/compose', input, call);
    // Without a format it is this one of the two.
    const composed = answer as Schemas['Composition'];
    const entries = Object.entries(composed.effective).map(
      ([name, { value, ...facts }]) => [name, redacted(facts, value)] as const,
    );
    return { ...composed, effective: Object.fromEntries(entries) };
  }
}
