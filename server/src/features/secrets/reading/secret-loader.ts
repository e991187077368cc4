import { afterArrivals } from '../../../kernel/base/batch-window.ts';
import { BoundedCache } from '../../../kernel/base/bounded-cache.ts';
import { unavailable } from '../../../kernel/base/errors.ts';
import { equalBytes } from '../../../kernel/crypto/digest.ts';
import type { Context } from '../../../kernel/request/context.ts';
import type { Database } from '../../../kernel/storage/database.ts';
import { ForgedRowError } from '../../../kernel/storage/row-keys.ts';
import { findVault, type VaultRow } from '../../vaults/storage/index.ts';
import { SECRETS } from '../storage/tables.ts';
import * as store from './read-store.ts';

export interface SecretKey {
  tenantId: string;
  vault: string;
  path: string;
}

const CACHE_BYTES_MAX = 16 * 1024 * 1024;
/** Estimate for a row without its texts and sealed bytes. */
const ROW_BYTES = 1024;
/** A larger value is loaded each time: the memory is better used for many small ones. */
const CACHED_BYTES_MAX = 4096;
/** Secrets in one batched query, at most. */
const BATCH_MAX = 200;

/**
 * Loads secrets as fast as the database allows. It caches only sealed values, as they are in the database, never plaintext.
 *
 * On SQLite only this process writes, and it counts its writes: a row cached at the current count is still valid. On PostgreSQL concurrent requests
 * are batched into one query, because a query costs more there than its rows. The query also loads the tenant's epoch, and while it runs the next
 * batch is collected.
 */
export class SecretLoader {
  readonly #database: Database;
  readonly #cache = new BoundedCache<string, { version: number; found: store.FoundSecret | undefined }>({
    bytesMax: CACHE_BYTES_MAX,
    bytesOf: ({ found }, slot) => ROW_BYTES + 2 * slot.length + sizeOfFound(found),
  });
  /** Vaults whose MAC was verified, which saves one HMAC for each read of a secret in them. */
  readonly #vaults = new BoundedCache<string, AuthenticVault>({
    bytesMax: CACHE_BYTES_MAX,
    bytesOf: (row, slot) => ROW_BYTES + 2 * (slot.length + row.description.length + row.tags.length),
  });
  readonly #prefetched = new WeakMap<Context, { key: SecretKey; loading: Promise<Loaded> }>();
  /** The next batch, by slot: concurrent requests for the same secret share one result. */
  #waiting = new Map<string, Waiting>();
  #requests = 0;
  #isQuerying = false;

  constructor(database: Database) {
    this.#database = database;
  }

  find(ctx: Context, key: SecretKey): Promise<store.FoundSecret | undefined> | store.FoundSecret | undefined {
    const { version } = this.#database;
    if (version !== null) return this.#cached(key, version);
    const prefetched = this.#prefetched.get(ctx);
    const loading = prefetched !== undefined && isSame(prefetched.key, key) ? prefetched.loading : this.#batched(key);
    return loading.then(({ found, forged }) => {
      if (forged !== null) throw forged;
      return found;
    });
  }

  /** Prefetching does not pay on SQLite, where reading the epoch costs nothing. */
  get prefetches(): boolean {
    return this.#database.version === null;
  }

  /** Starts loading the secret this request will need, and resolves to the tenant's epoch. */
  prefetch(ctx: Context, key: SecretKey): Promise<number | null> {
    const loading = this.#batched(key);
    this.#prefetched.set(ctx, { key, loading });
    return loading.then(({ epoch }) => epoch);
  }

  /** Missing secrets are cached too: otherwise response time would reveal which secrets exist. */
  #cached(key: SecretKey, version: number): ReturnType<SecretLoader['find']> {
    const slot = slotOf(key);
    const cached = this.#cache.get(slot);
    if (cached !== undefined && cached.version === version) return cached.found;
    return this.#database.query(store.READ_SECRET, key).then(async ([found]) => {
      if (found !== undefined) await this.#check(key, found);
      if ((found?.sealed?.length ?? 0) <= CACHED_BYTES_MAX) this.#cache.set(slot, { version, found });
      return found;
    });
  }

  #batched(key: SecretKey): Promise<Loaded> {
    const slot = slotOf(key);
    this.#requests++;
    let waiting = this.#waiting.get(slot);
    if (waiting === undefined) {
      waiting = { key, ...Promise.withResolvers<Loaded>() };
      this.#waiting.set(slot, waiting);
      if (!this.#isQuerying) this.#scheduleBatch();
    }
    return waiting.promise;
  }

  #scheduleBatch(): void {
    this.#isQuerying = true;
    afterArrivals(
      () => this.#requests,
      () => this.#queryBatch(),
    );
  }

  async #queryBatch(): Promise<void> {
    const batch = this.#takeWaiting();
    try {
      const keys = batch.map(({ key }) => key);
      const parameters = {
        tenants: keys.map((key) => key.tenantId),
        vaults: keys.map((key) => key.vault),
        paths: keys.map((key) => key.path),
      };
      const rows = await this.#database.query(store.READ_SMALL_SECRETS, parameters);
      const found = new Map(rows.map((row) => [Number(row.position), row]));
      for (const [i, { key, resolve }] of batch.entries()) {
        const row = found.get(i + 1);
        resolve(isLarge(row) ? this.#queryLarge(key) : await this.#verified(key, row));
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    this.#isQuerying = false;
    if (this.#waiting.size > 0) this.#scheduleBatch();
  }

  /** Loads a large value with the epoch of the same query. `forTenant` schedules it fairly among the tenants. */
  async #queryLarge(key: SecretKey): Promise<Loaded> {
    const parameters = { tenants: [key.tenantId], vaults: [key.vault], paths: [key.path] };
    const [row] = await this.#database.forTenant(key.tenantId).query(store.READ_SECRETS, parameters);
    return this.#verified(key, row);
  }

  /** The epoch is returned even if the row is forged: authentication needs it, and `find` refuses the row afterwards. */
  async #verified(key: SecretKey, row: store.RequestedSecret | undefined): Promise<Loaded> {
    const epoch = row?.epoch ?? null;
    if (row === undefined || row.vault_id === null) return { epoch, found: undefined, forged: null };
    try {
      await this.#check(key, row);
    } catch (error) {
      if (!(error instanceof ForgedRowError)) throw error;
      return { epoch, found: undefined, forged: error };
    }
    return { epoch, found: row, forged: null };
  }

  /** Verifies the MACs of vault and secret. */
  async #check(key: SecretKey, found: store.FoundSecret): Promise<void> {
    const { read, rowKeys } = this.#database;
    if (!this.#isVerifiedVault(key, found)) await this.#cacheVault(key, found);
    if (found.secret_id === null) return;
    const { tenantId, path } = key;
    const macKey = rowKeys.cached(tenantId) ?? (await rowKeys.keyForCheck(tenantId));
    const whole = { ...found, path, tenant_id: tenantId, deleted_no: 0, deleted_at: null, ...NOT_COVERED };
    if (macKey === null || !SECRETS.isAuthenticWith(macKey, whole)) {
      throw read.rowKeys.refuse(SECRETS.name, found.secret_id);
    }
  }

  #isVerifiedVault({ tenantId, vault }: SecretKey, found: store.FoundSecret): boolean {
    const known = this.#vaults.get(`${tenantId}\0${vault}`);
    if (known === undefined || found.vault_mac === null || !equalBytes(known.row_mac, found.vault_mac)) return false;
    return isSameVault(known, found);
  }

  /** Replaces the vault columns loaded beside the secret by the verified ones, in case the vault changed in between. */
  async #cacheVault({ tenantId, vault }: SecretKey, found: store.FoundSecret): Promise<void> {
    const row = await findVault(this.#database.read, tenantId, vault);
    if (row?.vault_id !== found.vault_id) throw unavailable('The vault changed during the read: try again.');
    this.#vaults.set(`${tenantId}\0${vault}`, row as AuthenticVault);
    found.status = row.status;
    found.log_reads = row.log_reads;
    found.vault_environment = row.environment;
  }

  #takeWaiting(): Waiting[] {
    const all = [...this.#waiting];
    this.#requests = 0;
    this.#waiting = new Map(all.slice(BATCH_MAX));
    return all.slice(0, BATCH_MAX).map(([, waiting]) => waiting);
  }
}

/** The row exists, and only its value was left out. */
function isLarge(row: store.RequestedSecret | undefined): boolean {
  return row !== undefined && row.secret_id !== null && row.sealed === null;
}

interface Loaded {
  /** The tenant's epoch from the same query; null if there is no such tenant. */
  epoch: number | null;
  found: store.FoundSecret | undefined;
  forged: ForgedRowError | null;
}

/** The row MAC does not cover these columns, so they are not loaded. */
const NOT_COVERED = { fingerprint: null, fingerprint_version: null };

type AuthenticVault = VaultRow & { row_mac: Uint8Array };

function isSameVault(vault: VaultRow, found: store.FoundSecret): boolean {
  const { vault_id, status, log_reads, environment } = vault;
  return (
    vault_id === found.vault_id &&
    status === found.status &&
    log_reads === found.log_reads &&
    environment === found.vault_environment
  );
}

function isSame(a: SecretKey, b: SecretKey): boolean {
  return a.tenantId === b.tenantId && a.vault === b.vault && a.path === b.path;
}

function slotOf({ tenantId, vault, path }: SecretKey): string {
  return `${tenantId}\0${vault}\0${path}`;
}

interface Waiting extends PromiseWithResolvers<Loaded> {
  key: SecretKey;
}

function sizeOfFound(found: store.FoundSecret | undefined): number {
  const { metadata, tags, rotation, sealed, data_key } = found ?? {};
  const characters = (metadata?.length ?? 0) + (tags?.length ?? 0) + (rotation?.length ?? 0);
  return 2 * characters + (sealed?.length ?? 0) + (data_key?.length ?? 0);
}
