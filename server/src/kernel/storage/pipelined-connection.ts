import type pg from 'pg';
import { ScramClient } from './scram-client.ts';

/**
 * One connection that many requests use concurrently: statements are sent at once and answered in order, without a round trip between them. If the
 * connection breaks, its pending statements fail, and the next statement opens a new connection.
 */
export class PipelinedConnection {
  readonly #settings: pg.ClientConfig;
  readonly #names = new Map<string, string>();
  #client: Promise<pg.Client> | null = null;
  #isClosed = false;

  constructor(settings: pg.ClientConfig) {
    this.#settings = { ...settings, pipeline: true } as pg.ClientConfig;
  }

  async query(sql: string, parameters: unknown[]): Promise<pg.QueryResult> {
    const client = await this.#connected();
    return client.query(sql, parameters);
  }

  /** For the few statements of the hot path, which the server parses once per connection. */
  async queryPrepared(sql: string, parameters: unknown[]): Promise<pg.QueryResult> {
    let name = this.#names.get(sql);
    if (name === undefined) {
      name = `s${this.#names.size}`;
      this.#names.set(sql, name);
    }
    const client = await this.#connected();
    return client.query({ name, text: sql, values: parameters });
  }

  #connected(): Promise<pg.Client> {
    if (this.#isClosed) return Promise.reject(new Error('the connection is closed'));
    this.#client ??= this.#connect();
    return this.#client;
  }

  #connect(): Promise<pg.Client> {
    const client = new ScramClient(this.#settings);
    const connecting = client.connect().then(() => client);
    const forget = () => {
      if (this.#client === connecting) this.#client = null;
    };
    client.on('error', forget);
    client.on('end', forget);
    connecting.catch(forget);
    return connecting;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const client = await this.#client?.catch(() => null);
    await client?.end();
  }
}
