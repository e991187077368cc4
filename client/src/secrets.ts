import { type CallOptions, type Connection, sleep } from './connection.ts';
import { CofferError } from './errors.ts';
import { collected, pages } from './pages.ts';
import { unlessPending } from './pending.ts';
import type { ReadCache } from './read-cache.ts';
import { redacted, type WithValue } from './redacted.ts';
import { parseReference, valueAt } from './reference.ts';
import type { Schemas } from './routes.ts';
import { Secret } from './secret.ts';

export interface ListOptions extends CallOptions {
  prefix?: string;
  tags?: string[];
  type?: string;
  /** Only secrets whose value ends before this time. */
  expires_before?: string;
  /** Soft-deleted secrets, which can be restored, instead of the others. */
  deleted?: boolean;
}

export interface GetOptions extends CallOptions {
  version?: number;
  /** False for a template as it is written, without the values that it refers to. */
  resolve?: boolean;
}

export interface GetAllOptions extends CallOptions {
  prefix?: string;
  /** Called with how many secrets were read so far. */
  onProgress?(read: number): void;
}

export type SetOptions = CallOptions &
  Omit<Schemas['CreateSecretInput'], 'path' | 'value'> & {
    /** Fails unless this is still the newest version; 0 stands for a secret that does not exist yet. */
    expectedVersion?: number;
  };

export interface WatchOptions extends CallOptions {
  prefix?: string;
  /** 10 seconds unless given. */
  intervalMs?: number;
  /** Versions by path that are known already, so that only what differs from them is told. Otherwise everything is told first. */
  known?: Readonly<Record<string, number>>;
}

export interface SecretChange {
  path: string;
  /** The newest version, or null if the secret is gone. */
  version: number | null;
}

/** One of several secrets that were read at once. */
export type ReadSecret = WithValue<Omit<Schemas['AggregatedSecret'], 'value'>, string>;

const WATCH_INTERVAL_MS = 10_000;
const PAGE = 1000;
/** What one request compares at most. */
const COMPARED_MAX = 100;

/** What the service compares a value by. Who has only this cannot find a value that nobody guesses. */
async function digestOf(value: string): Promise<string> {
  const bytes = new TextEncoder().encode(`coffer known value\n${value}`);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The secrets of vaults. */
export class Secrets {
  readonly #connection: Connection;
  readonly #cache: ReadCache<Secret> | null;
  /** The connection whose certificate is the only credential, or null. */
  readonly #byCertificate: string | null;

  constructor(connection: Connection, cache: ReadCache<Secret> | null, byCertificate: string | null) {
    this.#connection = connection;
    this.#cache = cache;
    this.#byCertificate = byCertificate;
  }

  /** Reads a secret with its value: the newest version unless one is named, and a template with what it refers to unless `resolve` is false. */
  async get(vault: string, path: string, options: GetOptions = {}): Promise<Secret> {
    const { version, resolve, ...call } = options;
    const query = { ...(version !== undefined && { version }), ...(resolve !== undefined && { resolve }) };
    const read = async () => new Secret(await this.#read(vault, path, query, call));
    const key = `${vault}/${path}?${version ?? ''}${resolve === false ? ' as written' : ''}`;
    return this.#cache === null ? read() : this.#cache.get(key, read);
  }

  /** The cached responses of a secret are evicted before a change and after it, since a read in between may have cached the old value. */
  async #changing<T>(vault: string, path: string, change: () => Promise<T>): Promise<T> {
    const evict = () => this.#cache?.evict(`${vault}/${path}?`);
    evict();
    return change().finally(evict);
  }

  #read(vault: string, path: string, query: Pick<GetOptions, 'version' | 'resolve'>, call: CallOptions) {
    // The route that a certificate alone opens has the newest versions only.
    if (this.#byCertificate !== null && Object.keys(query).length === 0) {
      const client_id = this.#byCertificate;
      const route = 'GET /app-connections/fetch/{client_id}/{vault}/{secret}';
      return this.#connection.call(route, { path: { client_id, vault, secret: path } }, call);
    }
    return this.#connection.call('GET /v1/vaults/{vault}/secrets/{path}', { path: { vault, path }, query }, call);
  }

  /** The value that `coffer://vault/path?version=3#/field` names. */
  async resolve(reference: string, options: CallOptions = {}): Promise<string> {
    const { vault, path, version, pointer } = parseReference(reference);
    const { value } = await this.get(vault, path, { ...options, ...(version !== undefined && { version }) }).catch(
      (error: unknown) => {
        throw error instanceof CofferError ? error.about(reference) : error;
      },
    );
    return pointer === undefined ? value : valueAt(value, pointer, `${vault}/${path}`);
  }

  /** Everything about the secrets of a vault but their values, page by page as it is consumed. */
  async *list(vault: string, options: ListOptions = {}): AsyncGenerator<Schemas['ListedSecret']> {
    const { signal, timeoutMs, ...query } = options;
    const call = callOf({ signal, timeoutMs });
    const input = { path: { vault }, query: { ...query, limit: PAGE } };
    for await (const page of pages(this.#connection, 'GET /v1/vaults/{vault}/secrets', input, call)) {
      yield* page.secrets;
    }
  }

  /** Secrets of all vaults whose path contains each of these texts, without their values. Upper and lower case are the same. */
  async *find(parts: readonly string[], options: CallOptions = {}): AsyncGenerator<Schemas['FoundSecret']> {
    const input = { query: { path: [...parts], limit: PAGE } };
    for await (const page of pages(this.#connection, 'GET /v1/secrets', input, options)) yield* page.secrets;
  }

  /** Every secret under a prefix that the caller may read, with values. */
  async getAll(vault: string, options: GetAllOptions = {}): Promise<ReadSecret[]> {
    const { prefix, onProgress, ...call } = options;
    const secrets: ReadSecret[] = [];
    for await (const secret of this.#values(vault, prefix, call)) {
      secrets.push(secret);
      onProgress?.(secrets.length);
    }
    return secrets;
  }

  async *#values(vault: string, prefix: string | undefined, call: CallOptions): AsyncGenerator<ReadSecret> {
    const input = { path: { vault }, query: { prefix } };
    for await (const page of pages(this.#connection, 'GET /v1/vaults/{vault}/aggregate', input, call))
      for (const { value, ...facts } of page.secrets) yield redacted(facts, value);
  }

  /**
   * Says which secrets have these values: for scanners that found them elsewhere. Only digests are sent. Covers what the caller may list, and of
   * values that could be guessed only what the caller may read. `isComplete` is false while some secrets cannot be compared, shortly after an upgrade.
   */
  async findKnown(
    values: readonly string[],
    options: CallOptions = {},
  ): Promise<{ known: Schemas['KnownValue'][]; isComplete: boolean }> {
    const known: Schemas['KnownValue'][] = [];
    let isComplete = true;
    for (let from = 0; from < values.length; from += COMPARED_MAX) {
      const body = { digests: await Promise.all(values.slice(from, from + COMPARED_MAX).map(digestOf)) };
      const part = await this.#connection.call('POST /v1/secrets/known', { body }, { ...options, isRead: true });
      known.push(...part.known.map((one) => ({ ...one, index: from + one.index })));
      isComplete &&= part.complete;
    }
    return { known, isComplete };
  }

  /**
   * Writes a new version of a secret, or creates it. In a vault whose changes are reviewed this and every other change throws `PENDING_APPROVAL`. Its type, environment and protection are those of its creation.
   */
  async set(vault: string, path: string, value: string, options: SetOptions = {}): Promise<Schemas['Secret']> {
    return this.#changing(vault, path, () => this.#set(vault, path, value, options));
  }

  async #set(
    vault: string,
    path: string,
    value: string,
    { signal, timeoutMs, idempotencyKey, expectedVersion, ...fields }: SetOptions,
  ): Promise<Schemas['Secret']> {
    if (typeof value !== 'string') throw new TypeError('a value is a text');
    const call = callOf({ signal, timeoutMs });
    const key = idempotencyKey ?? crypto.randomUUID();
    const { metadata, expires_at } = fields;
    if (expectedVersion !== 0) {
      const body = {
        value,
        ...(metadata !== undefined && { metadata }),
        ...(expires_at !== undefined && { expires_at }),
        ...(expectedVersion !== undefined && { expected_version: expectedVersion }),
      };
      try {
        return unlessPending(
          await this.#connection.call(
            'PUT /v1/vaults/{vault}/secrets/{path}',
            { path: { vault, path }, body },
            { ...call, idempotencyKey: key },
          ),
        );
      } catch (error) {
        // Who may only create is refused whether it exists or not.
        const { code } = error as { code?: string };
        const mayBeNew = code === 'SECRET_NOT_FOUND' || code === 'INSUFFICIENT_PRIVILEGE';
        if (expectedVersion !== undefined || !mayBeNew) throw error;
      }
    }
    return unlessPending(
      await this.#connection.call(
        'POST /v1/vaults/{vault}/secrets',
        { path: { vault }, body: { path, value, ...fields } },
        // Another request than the first one, so it has another key.
        { ...call, idempotencyKey: `${key}-create` },
      ),
    );
  }

  async rotate(vault: string, path: string, options: CallOptions & Schemas['RotateSecretInput'] = {}) {
    const { signal, timeoutMs, idempotencyKey, ...body } = options;
    return this.#changing(vault, path, async () =>
      unlessPending(
        await this.#connection.call(
          'POST /v1/vaults/{vault}/secrets/{path}/rotate',
          { path: { vault, path }, body },
          { ...callOf({ signal, timeoutMs }), idempotencyKey: idempotencyKey ?? crypto.randomUUID() },
        ),
      ),
    );
  }

  async rollback(vault: string, path: string, toVersion: number, options: CallOptions & { reason?: string } = {}) {
    const { signal, timeoutMs, idempotencyKey, reason } = options;
    return this.#changing(vault, path, async () =>
      unlessPending(
        await this.#connection.call(
          'POST /v1/vaults/{vault}/secrets/{path}/rollback',
          { path: { vault, path }, body: { to_version: toVersion, ...(reason !== undefined && { reason }) } },
          { ...callOf({ signal, timeoutMs }), idempotencyKey: idempotencyKey ?? crypto.randomUUID() },
        ),
      ),
    );
  }

  /** The versions of a secret, newest first: who changed it, when and why. */
  async *versions(vault: string, path: string, options: CallOptions = {}): AsyncGenerator<Schemas['SecretVersion']> {
    const route = 'GET /v1/vaults/{vault}/secrets/{path}/versions';
    for await (const page of pages(this.#connection, route, { path: { vault, path } }, options)) yield* page.versions;
  }

  async delete(vault: string, path: string, options: CallOptions = {}) {
    return this.#changing(vault, path, async () =>
      unlessPending(
        await this.#connection.call(
          'DELETE /v1/vaults/{vault}/secrets/{path}',
          { path: { vault, path } },
          { ...options, idempotencyKey: options.idempotencyKey ?? crypto.randomUUID() },
        ),
      ),
    );
  }

  /**
   * Tells which secrets changed, until the signal says stop. It asks for versions, not for values, so that watching is no reading in the audit log.
   * A failure ends it, except that the service cannot be reached: then it goes on asking.
   */
  async *watch(vault: string, options: WatchOptions = {}): AsyncGenerator<SecretChange> {
    const { prefix, intervalMs = WATCH_INTERVAL_MS, known = {}, signal, timeoutMs } = options;
    const versions = new Map<string, Seen>(Object.entries(known).map(([path, version]) => [path, { version }]));
    for (;;) {
      const seen = new Map<string, Seen>();
      let isWhole = true;
      try {
        const listing = { ...callOf({ signal, timeoutMs }), ...(prefix !== undefined && { prefix }) };
        for (const { path, version, parts_version } of await collected(this.list(vault, listing))) {
          seen.set(path, { version, ...(parts_version !== undefined && { parts_version }) });
        }
      } catch (error) {
        if (!isPassing(error)) throw error;
        isWhole = false;
      }
      if (isWhole) yield* differences(versions, seen);
      await sleep(intervalMs * (0.9 + 0.2 * Math.random()), signal);
    }
  }
}

/** A template is another one when the version of something that it refers to is. */
interface Seen {
  version: number;
  parts_version?: string;
}

function* differences(versions: Map<string, Seen>, seen: ReadonlyMap<string, Seen>): Generator<SecretChange> {
  for (const [path, now] of seen) {
    const known = versions.get(path);
    versions.set(path, now);
    const isSameText = known?.version === now.version;
    // The versions that the caller knows from before say nothing about parts.
    if (isSameText && (known.parts_version ?? now.parts_version) === now.parts_version) continue;
    yield { path, version: now.version };
  }
  for (const path of [...versions.keys()]) {
    if (seen.has(path)) continue;
    versions.delete(path);
    yield { path, version: null };
  }
}

function isPassing(error: unknown): boolean {
  const { code, status = 0 } = error as { code?: string; status?: number };
  return code === 'NO_ANSWER' || code === 'TIMED_OUT' || status === 429 || status >= 500;
}

interface MaybeCall {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

function callOf({ signal, timeoutMs }: MaybeCall): CallOptions {
  return { ...(signal !== undefined && { signal }), ...(timeoutMs !== undefined && { timeoutMs }) };
}
