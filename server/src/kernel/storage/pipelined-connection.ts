import type pg from 'pg';
import { nameOf } from './prepared-query.ts';
import { NOT_REPLICATED, NotReplicated, ScramClient } from './scram-client.ts';

/** The driver's error for a statement that got no response in time. It has no code. */
export const SILENCE = 'Query read timeout';

export function isSilence(error: unknown): boolean {
  const { message, cause } = (error ?? {}) as { message?: unknown; cause?: unknown };
  return message === SILENCE || (cause instanceof Error && cause.message === SILENCE);
}

/** Which server connections are opened to, and what it is told about them. */
export interface ServerChoice {
  address(): string | Promise<string>;
  /** A connection to this server broke, was not opened, or was refused a write: another server may be the right one. */
  leave(url: string): void;
  /** A statement got no response in time. */
  onSilence(): void;
}

/** PostgreSQL's code for a write on a standby. */
const READ_ONLY = '25006';

/** Whether the server did not take a write for good. Inside a transaction the driver's error is the cause of ours. */
export function isRefusedWrite(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } };
  return [code, cause?.code].some((one) => one === READ_ONLY || one === NOT_REPLICATED);
}

/** `session`: statements that set what holds for the whole session. */
export interface SessionConfig extends pg.ClientConfig {
  session: string;
}

/**
 * One connection that many requests use concurrently: statements are sent at once and answered in order, without a round trip between them. If the
 * connection breaks, its pending statements fail, and the next statement opens a new connection.
 */
export class PipelinedConnection {
  readonly #settings: SessionConfig;
  readonly #server: ServerChoice;
  #client: Promise<Opened> | null = null;
  #isClosed = false;

  constructor(settings: SessionConfig, server: ServerChoice) {
    this.#settings = { ...settings, pipeline: true } as SessionConfig;
    this.#server = server;
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
    old?.then(({ client }) => client.end()).catch(() => {});
  }

  async #send(statement: (client: pg.Client) => Promise<pg.QueryResult>): Promise<pg.QueryResult> {
    const connected = this.#connected();
    const { client, url } = await connected;
    const unreplicated = client.unreplicated;
    try {
      const result = await statement(client);
      if (client.unreplicated !== unreplicated) throw new NotReplicated();
      return result;
    } catch (error) {
      if (isSilence(error)) this.#server.onSilence();
      if (isRefusedWrite(error) && this.#client === connected) this.#server.leave(url);
      throw error;
    }
  }

  #connected(): Promise<Opened> {
    if (this.#isClosed) return Promise.reject(new Error('the connection is closed'));
    this.#client ??= this.#connect();
    return this.#client;
  }

  #connect(): Promise<Opened> {
    // One that was replaced or closed ends as it should, and says nothing about its server.
    const discard = () => {
      if (this.#client !== connecting) return false;
      this.#client = null;
      return true;
    };
    const connecting = this.#open(discard);
    connecting.catch(discard);
    return connecting;
  }

  async #open(discard: () => boolean): Promise<Opened> {
    const url = await this.#server.address();
    const { session, ...settings } = this.#settings;
    const client = new ScramClient({ ...settings, connectionString: url });
    const onBroken = () => {
      if (discard()) this.#server.leave(url);
    };
    client.on('error', onBroken);
    client.on('end', onBroken);
    try {
      await client.connect();
      await client.query(session);
    } catch (error) {
      onBroken();
      // It may be open although its settings were refused. Then nobody else ends it, and one that never opened needs no goodbye.
      client.end().catch(() => {});
      throw error;
    }
    return { client, url };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#client?.catch(() => null);
    await opened?.client.end();
  }
}

interface Opened {
  client: ScramClient;
  url: string;
}
