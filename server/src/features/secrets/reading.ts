import { BoundedCache } from '../../kernel/bounded-cache.ts';
import type { Context } from '../../kernel/context.ts';
import { afterArrivals } from '../../kernel/gathering.ts';
import type { Database } from '../../kernel/storage/database.ts';
import * as store from './read-store.ts';

export interface SecretKey {
  tenantId: string;
  vault: string;
  path: string;
}

const KEPT_MAX = 5000;
/** A larger value is read each time: the memory is better used for many small ones. */
const KEPT_BYTES_MAX = 4096;
/** Questions asked at once, at most. */
const BATCH_MAX = 200;

/**
 * Finds secrets as fast as the database allows. What it keeps is sealed, as it is in the database; plaintext is not.
 *
 * On SQLite nothing but this process changes anything, and it counts its changes: a row read since the last one is still the row. On
 * PostgreSQL requests that arrive together share one question, since there each question costs more than its answer; it is asked with the
 * tenant's epoch, and while one is under way the next gathers.
 */
export class SecretReader {
  readonly #database: Database;
  readonly #kept = new BoundedCache<string, { version: number; found: store.FoundSecret | undefined }>(KEPT_MAX);
  readonly #foreseen = new WeakMap<Context, { key: SecretKey; answer: Promise<Answer> }>();
  /** What will be asked next, by slot: who asks for the same at the same time shares the answer. */
  #waiting = new Map<string, Waiting>();
  #askers = 0;
  #isAsking = false;

  constructor(database: Database) {
    this.#database = database;
  }

  find(ctx: Context, key: SecretKey): Promise<store.FoundSecret | undefined> | store.FoundSecret | undefined {
    const { version } = this.#database;
    if (version !== null) return this.#keeping(key, version);
    const foreseen = this.#foreseen.get(ctx);
    const answer = foreseen !== undefined && isSame(foreseen.key, key) ? foreseen.answer : this.#together(key);
    return answer.then(({ found }) => found);
  }

  /** Not where an epoch costs nothing. */
  get gainsByForesight(): boolean {
    return this.#database.version === null;
  }

  /** Begins to find what this request will ask for, and answers with the tenant's epoch. */
  foresee(ctx: Context, key: SecretKey): Promise<number | null> {
    const answer = this.#together(key);
    this.#foreseen.set(ctx, { key, answer });
    return answer.then(({ epoch }) => epoch);
  }

  /** Also that there is none: if only what exists were kept, time would tell which is which. */
  #keeping(key: SecretKey, version: number): ReturnType<SecretReader['find']> {
    const slot = slotOf(key);
    const kept = this.#kept.get(slot);
    if (kept !== undefined && kept.version === version) return kept.found;
    return this.#database.query(store.READ_SECRET, key).then(([found]) => {
      if ((found?.sealed?.length ?? 0) <= KEPT_BYTES_MAX) this.#kept.set(slot, { version, found });
      return found;
    });
  }

  #together(key: SecretKey): Promise<Answer> {
    const slot = slotOf(key);
    this.#askers++;
    let waiting = this.#waiting.get(slot);
    if (waiting === undefined) {
      waiting = { key, ...Promise.withResolvers<Answer>() };
      this.#waiting.set(slot, waiting);
      if (!this.#isAsking) this.#askSoon();
    }
    return waiting.promise;
  }

  #askSoon(): void {
    this.#isAsking = true;
    afterArrivals(
      () => this.#askers,
      () => this.#ask(),
    );
  }

  async #ask(): Promise<void> {
    const batch = this.#takeWaiting();
    try {
      const keys = batch.map(({ key }) => key);
      const parameters = {
        tenants: keys.map((key) => key.tenantId),
        vaults: keys.map((key) => key.vault),
        paths: keys.map((key) => key.path),
      };
      const rows = await this.#database.query(store.READ_SECRETS, parameters);
      const found = new Map(rows.map((row) => [Number(row.place), row]));
      batch.forEach(({ resolve }, i) => {
        resolve(answerOf(found.get(i + 1)));
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    this.#isAsking = false;
    if (this.#waiting.size > 0) this.#askSoon();
  }

  #takeWaiting(): Waiting[] {
    const all = [...this.#waiting];
    this.#askers = 0;
    this.#waiting = new Map(all.slice(BATCH_MAX));
    return all.slice(0, BATCH_MAX).map(([, waiting]) => waiting);
  }
}

interface Answer {
  /** Of the tenant, in the same moment; null if there is no such tenant. */
  epoch: number | null;
  found: store.FoundSecret | undefined;
}

function answerOf(row: store.AskedSecret | undefined): Answer {
  return { epoch: row?.epoch ?? null, found: row === undefined || row.vault_id === null ? undefined : row };
}

function isSame(a: SecretKey, b: SecretKey): boolean {
  return a.tenantId === b.tenantId && a.vault === b.vault && a.path === b.path;
}

function slotOf({ tenantId, vault, path }: SecretKey): string {
  return `${tenantId}\0${vault}\0${path}`;
}

interface Waiting extends PromiseWithResolvers<Answer> {
  key: SecretKey;
}
