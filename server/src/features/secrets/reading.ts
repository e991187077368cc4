import { BoundedCache } from '../../kernel/bounded-cache.ts';
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
 * Finds secrets as fast as the database allows. What it keeps is sealed, as it is in the database; plaintext is never kept.
 *
 * On SQLite nothing but this process changes anything, and it counts its changes: a row read since the last one is still the row. On
 * PostgreSQL requests that arrive together share one question, since there each question costs more than its answer.
 */
export class SecretReader {
  readonly #database: Database;
  readonly #kept = new BoundedCache<string, { version: number; found: store.FoundSecret | undefined }>(KEPT_MAX);
  #waiting: Waiting[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  find(key: SecretKey): Promise<store.FoundSecret | undefined> | store.FoundSecret | undefined {
    const { version } = this.#database;
    return version === null ? this.#together(key) : this.#keeping(key, version);
  }

  /** Also that there is none: if only what exists were kept, time would tell which is which. */
  #keeping(key: SecretKey, version: number): ReturnType<SecretReader['find']> {
    const slot = `${key.tenantId} ${key.vault} ${key.path}`;
    const kept = this.#kept.get(slot);
    if (kept !== undefined && kept.version === version) return kept.found;
    return this.#database.query(store.READ_SECRET, key).then(([found]) => {
      if ((found?.sealed?.length ?? 0) <= KEPT_BYTES_MAX) this.#kept.set(slot, { version, found });
      return found;
    });
  }

  #together(key: SecretKey): Promise<store.FoundSecret | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject });
      // After what has arrived by now was taken in.
      if (this.#waiting.length === 1) setImmediate(() => this.#ask());
      else if (this.#waiting.length === BATCH_MAX) this.#ask();
    });
  }

  async #ask(): Promise<void> {
    const batch = this.#waiting;
    if (batch.length === 0) return;
    this.#waiting = [];
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
        resolve(found.get(i + 1));
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

interface Waiting {
  key: SecretKey;
  resolve(found: store.FoundSecret | undefined): void;
  reject(error: unknown): void;
}
