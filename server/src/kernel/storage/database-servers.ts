import type pg from 'pg';
import { parseDatabaseUrl, serverName } from './database-url.ts';
import { SESSION_NAME } from './schema-version.ts';
import { ScramClient } from './scram-client.ts';

/** How long one server may take to say whether it accepts writes. The next one is tried then. */
const TRY_MS = 2000;
export const NO_WRITABLE_SERVER = 'NO_WRITABLE_SERVER';
const IS_READ_ONLY = `select pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as is_read_only`;

/** No server of the list accepts writes now. The message says what is wrong with each. */
export class NoWritableServer extends Error {
  override readonly name = 'NoWritableServer';
  readonly code = NO_WRITABLE_SERVER;

  constructor(problems: readonly { url: string; error: unknown }[]) {
    const list = problems.map(({ url, error }) => `${serverName(url)}: ${problemOf(error)}`);
    super(`no server of CV_DATABASE_URL accepts writes (${list.join('; ')})`, { cause: problems[0]?.error });
  }
}

class ReadOnlyServer extends Error {
  readonly code = '25006';

  constructor() {
    super('read-only, a standby');
  }
}

/** The codes of PostgreSQL and of the network name the problem. Messages may quote what was sent, so only ours are shown. */
function problemOf(error: unknown): string {
  if (error instanceof ReadOnlyServer) return error.message;
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : 'no answer';
}

/**
 * The servers of a database URL, of which one accepts writes. Connections are opened to the one that was found last, until one of them breaks or is
 * refused a write; then each server is tried in turn. With one server and no condition nothing is tried.
 */
export class DatabaseServers {
  readonly #urls: readonly string[];
  readonly #isWritableRequired: boolean;
  #current: string | null;
  #searching: Promise<string> | null = null;
  /** The last server that was found, which is tried last after it was left. */
  #last: string | null = null;
  readonly #onMoved: () => void;

  /** `onMoved` is called when another server than before was found: connections to the former one are useless. */
  constructor(url: string, onMoved: () => void = () => {}) {
    const parsed = parseDatabaseUrl(url);
    if (parsed === null) throw new Error('the database URL was not checked');
    this.#urls = parsed.servers;
    this.#isWritableRequired = parsed.isWritableRequired;
    this.#onMoved = onMoved;
    this.#current = parsed.isWritableRequired ? null : (parsed.servers[0] ?? null);
  }

  /** The URL of the server to connect to. */
  address(): string | Promise<string> {
    if (this.#current !== null) return this.#current;
    this.#searching ??= this.#search().finally(() => {
      this.#searching = null;
    });
    return this.#searching;
  }

  /** Call it when a server broke a connection or refused a write. Returns whether another server may be the right one from now on. */
  leave(url: string): boolean {
    if (!this.#isWritableRequired || this.#current !== url) return false;
    this.#current = null;
    return true;
  }

  async #search(): Promise<string> {
    const problems: { url: string; error: unknown }[] = [];
    for (const url of this.#inOrder()) {
      try {
        await requireWritable(url);
        const hasMoved = this.#last !== null && this.#last !== url;
        this.#current = this.#last = url;
        if (hasMoved) this.#onMoved();
        return url;
      } catch (error) {
        problems.push({ url, error });
      }
    }
    throw new NoWritableServer(problems);
  }

  /** The server that was left is tried last: cut off from the others, it may still say that it accepts writes. */
  #inOrder(): string[] {
    return this.#urls.toSorted((a, b) => Number(a === this.#last) - Number(b === this.#last));
  }
}

/** Connects to the server of a URL that accepts writes, for a command that needs one connection. */
export async function connectTo(url: string, settings: pg.ClientConfig): Promise<pg.Client> {
  const client = new ScramClient({ ...settings, connectionString: await new DatabaseServers(url).address() });
  // Without a listener, an error on the connection would end the process before it can be reported.
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function requireWritable(url: string): Promise<void> {
  const client = new ScramClient({
    connectionString: url,
    application_name: SESSION_NAME,
    connectionTimeoutMillis: TRY_MS,
    query_timeout: TRY_MS,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ is_read_only: boolean }>(IS_READ_ONLY);
    if (rows[0]?.is_read_only !== false) throw new ReadOnlyServer();
  } finally {
    // The goodbye to a server that does not answer would wait for it.
    client.end().catch(() => {});
  }
}
