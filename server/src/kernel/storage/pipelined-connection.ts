import type pg from 'pg';
import { nameOf } from './prepared-query.ts';
import { ScramClient } from './scram-client.ts';

/** The driver's error for a statement that got no response in time. It has no code. */
export const SILENCE = 'Query read timeout';

export function isSilence(error: unknown): boolean {
  const { message, cause } = (error ?? {}) as { message?: unknown; cause?: unknown };
  return message === SILENCE || (cause instanceof Error && cause.message === SILENCE);
}

/**
 * One connection that many requests use concurrently: statements are sent at once and answered in order, without a round trip between them. If the
 * connection breaks, its pending statements fail, and the next statement opens a new connection.
 */
export class PipelinedConnection {
  readonly #settings: pg.ClientConfig;
  readonly #onSilence: () => void;
  #client: Promise<pg.Client> | null = null;
  #isClosed = false;

  constructor(settings: pg.ClientConfig, onSilence: () => void) {
    this.#settings = { ...settings, pipeline: true } as pg.ClientConfig;
    this.#onSilence = onSilence;
  }

  query(sql: string, parameters: unknown[]): Promise<pg.QueryResult> {
    return this.#send((client) => client.query(sql, parameters));
  }

  /** For the few statements of the hot path, which the server parses once per connection. */
  queryPrepared(sql: string, parameters: unknown[]): Promise<pg.QueryResult> {
    const query = { name: nameOf(sql) ?? '', text: sql, values: parameters };
    return this.#send((client) => client.query(query));
  }

  /** Later statements use a new connection. Pending ones are answered on the old one, or fail when their time is over. */
  renew(): void {
    const old = this.#client;
    this.#client = null;
    // A connection that never opened, or broke meanwhile, needs no goodbye.
    old?.then((client) => client.end()).catch(() => {});
  }

  async #send(statement: (client: pg.Client) => Promise<pg.QueryResult>): Promise<pg.QueryResult> {
    const client = await this.#connected();
    try {
      return await statement(client);
    } catch (error) {
      if (isSilence(error)) this.#onSilence();
      throw error;
    }
  }

  #connected(): Promise<pg.Client> {
    if (this.#isClosed) return Promise.reject(new Error('the connection is closed'));
    this.#client ??= this.#connect();
    return this.#client;
  }

  #connect(): Promise<pg.Client> {
    const client = new ScramClient(this.#settings);
    const connecting = client.connect().then(() => client);
    const discard = () => {
      if (this.#client === connecting) this.#client = null;
    };
    client.on('error', discard);
    client.on('end', discard);
    connecting.catch(discard);
    return connecting;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const client = await this.#client?.catch(() => null);
    await client?.end();
  }
}
