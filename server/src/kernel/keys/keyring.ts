import { createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import { BoundedCache, SECRET_KEY_BYTES } from '../base/bounded-cache.ts';
import { type Clock, DAY_MS, MINUTE_MS } from '../base/clock.ts';
import { unavailable } from '../base/errors.ts';
import { hmacSha256 } from '../crypto/digest.ts';
import { type MacKey, macKeyOf } from '../crypto/mac-key.ts';
import type { RootKey } from '../crypto/root-key.ts';
import { type SealedLocation, seal, sealedKeyVersion, UnsealError, unseal } from '../crypto/sealing.ts';
import { type Database, type Reader, type Tx, UniqueViolation } from '../storage/database.ts';
import { ROW_PURPOSE, type RowKeySource } from '../storage/row-keys.ts';
import type { Tables } from '../storage/tables.ts';
import {
  insertKey,
  KEY_BYTES,
  keyPlace,
  replaceWrapped,
  TENANT_PURPOSE,
  tenantKeyPlace,
  tenantKeyVersion,
  unwrapByTenant,
  type WrappingKey,
  wrapByRoot,
  wrapByTenant,
} from './key-wrapping.ts';

export type { MacKey } from '../crypto/mac-key.ts';

const KEYS_BOUNDS = { bytesMax: 8 * 1024 * 1024, bytesOf: () => SECRET_KEY_BYTES };
/** A random 96-bit IV repeats with noticeable probability near 2^32 uses of a key; a key is retired far earlier. */
export const KEY_USES_MAX = 2 ** 30;
/** Uses are reserved in growing blocks: a restart wastes at most a small one, and a busy key needs one write per million uses. */
export const USES_BLOCK_MIN = 2 ** 10;
export const USES_BLOCK_MAX = 2 ** 20;
const USES_BLOCK_GROWTH = 4;
export function nextBlock(block: number): number {
  return Math.min(block * USES_BLOCK_GROWTH, USES_BLOCK_MAX);
}
export const KEY_AGE_MAX_MS = 90 * DAY_MS;
/** How long a node may continue to seal with a version after another node has created a newer one. */
const NEWEST_TRUSTED_MS = 5 * MINUTE_MS;

/** A sealing key that can be used synchronously, for example inside a transaction. Its uses are counted. */
export interface SealingKey {
  readonly version: number;
  seal(place: Omit<SealedLocation, 'tenantId'>, plaintext: Uint8Array): Buffer;
}

interface Newest {
  version: number;
  createdAt: number;
  checkedAt: number;
  /** Reserved uses that are left; negative once a transaction has sealed more than were left. */
  usesLeft: number;
  /** The size of the next reservation. */
  block: number;
}

/**
 * Root key → tenant key → one key for each purpose. The newest version of a key seals; every version unseals. Unwrapped keys are `KeyObject`s in a
 * bounded cache; the database stores them wrapped only.
 */
export class Keyring implements RowKeySource {
  readonly #database: Database;
  readonly #root: RootKey;
  readonly #clock: Clock;
  readonly #keys = new BoundedCache<string, KeyObject>(KEYS_BOUNDS);
  readonly #newest = new BoundedCache<string, Newest>(KEYS_BOUNDS);
  /** Keys from before a rekey, which only unseal. */
  readonly #retired = new WeakSet<KeyObject>();
  /** Running reservations, so that many concurrent first seals reserve one block. */
  readonly #reserving = new Map<string, Promise<Newest>>();

  /** Tenants from before rows were authenticated, until the upgrade has authenticated their rows. */
  readonly #unauthenticated = new Set<string>();

  constructor(database: Database, root: RootKey, clock: Clock) {
    this.#database = database;
    this.#root = root;
    this.#clock = clock;
  }

  /**
   * Creates the key of a new tenant and its first MAC keys for some purposes, in the transaction that creates the tenant. They are not cached,
   * because the transaction may still fail.
   */
  async createTenantKey(tx: Tx, tenantId: string, ...purposes: string[]): Promise<MacKey[]> {
    await this.#refuseIfReplaced(tx);
    const now = this.#clock.now();
    const tenantKey = randomBytes(KEY_BYTES);
    await insertKey(tx, wrapByRoot(this.#root, { tenantId, version: 1, bytes: tenantKey, now }));
    const made: MacKey[] = [];
    for (const purpose of purposes) {
      const key = randomBytes(KEY_BYTES);
      const wrapping = { key: createSecretKey(tenantKey), version: 1 };
      await insertKey(tx, wrapByTenant(wrapping, { tenantId, purpose, version: 1, bytes: key, now }));
      made.push(macKeyOf(createSecretKey(key), 1));
    }
    return made;
  }

  /** A node that missed a rekey would wrap the new tenant's key with a root key that is no longer stored anywhere, and the tenant would be lost. */
  async #refuseIfReplaced(tx: Tx): Promise<void> {
    const row = await tx.selectFrom('installation').select('root_key_id').forShare().executeTakeFirst();
    if (row !== undefined && row.root_key_id !== this.#root.id) {
      throw unavailable('The root key was replaced while this node was running: restart it with the new root key.');
    }
  }

  async seal(purpose: string, place: SealedLocation, plaintext: Uint8Array): Promise<Buffer> {
    return (await this.sealingKey(place.tenantId, purpose)).seal(place, plaintext);
  }

  async unseal(purpose: string, place: SealedLocation, sealed: Uint8Array): Promise<Buffer> {
    return unseal(await this.#key(place.tenantId, purpose, sealedKeyVersion(sealed)), place, sealed);
  }

  /** The synchronous variant; null if the key is not cached. A promise costs a large part of what unsealing a short value costs. */
  unsealNow(purpose: string, place: SealedLocation, sealed: Uint8Array): Buffer | null {
    const key = this.#keys.get(slotOf(place.tenantId, purpose, sealedKeyVersion(sealed)));
    return key === undefined ? null : unseal(key, place, sealed);
  }

  /** A key that does not exist or cannot be unwrapped has made no MAC. */
  async verifyMac(
    tenantId: string,
    { purpose, version }: { purpose: string; version: number },
    data: Uint8Array,
    mac: Uint8Array,
  ): Promise<boolean> {
    try {
      const expected = hmacSha256(await this.#key(tenantId, purpose, version), data);
      return mac.length === expected.length && timingSafeEqual(mac, expected);
    } catch (error) {
      if (error instanceof UnsealError) return false;
      throw error;
    }
  }

  /**
   * The newest sealing key of a purpose, created or rotated first if due, with uses reserved. Call it before a transaction, never inside one:
   * creating a key and reserving uses are separate transactions.
   */
  async sealingKey(tenantId: string, purpose: string, maxAgeMs: number = KEY_AGE_MAX_MS): Promise<SealingKey> {
    const newest = await this.#reserved(tenantId, purpose, maxAgeMs);
    return sealingKeyOf(await this.#key(tenantId, purpose, newest.version), tenantId, newest);
  }

  /**
   * The newest MAC key of a purpose. It rotates by age only, and never with a `maxAgeMs` of infinity: for MACs that are compared with each other, a
   * new key would silently change them. Call it before a transaction.
   */
  async macKey(tenantId: string, purpose: string, maxAgeMs: number = KEY_AGE_MAX_MS): Promise<MacKey> {
    const { version } = await this.#newestOf(tenantId, purpose, maxAgeMs);
    return macKeyOf(await this.#key(tenantId, purpose, version), version);
  }

  /** The key itself, for callers that have their own format and count the uses. It is unwrapped once and then cached. */
  keyAt(tenantId: string, purpose: string, version: number): Promise<KeyObject> {
    return this.#key(tenantId, purpose, version);
  }

  isAuthenticated(tenantId: string): boolean {
    return !this.#unauthenticated.has(tenantId);
  }

  /** Until its rows are authenticated, a tenant's own key is unwrapped as earlier releases wrapped it. */
  setAuthenticated(tenantId: string, isAuthenticated: boolean): void {
    if (isAuthenticated) this.#unauthenticated.delete(tenantId);
    else this.#unauthenticated.add(tenantId);
  }

  /** The key that authenticates a tenant's rows. It is created with the tenant, and only a rekey creates another. */
  async newestRowKey(tenantId: string): Promise<MacKey> {
    const row = await this.#newestRow(tenantId, ROW_PURPOSE);
    if (row === undefined) throw new UnsealError();
    return macKeyOf(await this.#key(tenantId, ROW_PURPOSE, row.version), row.version);
  }

  /** Wraps new versions of a key, to be inserted in a transaction. Call it before that transaction. */
  async versionMaker(tenantId: string, purpose: string): Promise<(version: number) => Tables['keys']> {
    const wrapping = await this.#tenantKey(tenantId);
    return (version) => {
      const bytes = randomBytes(KEY_BYTES);
      const row = wrapByTenant(wrapping, { tenantId, purpose, version, bytes, now: this.#clock.now() });
      bytes.fill(0);
      return row;
    };
  }

  insertVersion(tx: Tx, row: Tables['keys']): Promise<void> {
    return insertKey(tx, row);
  }

  /** Counts uses in advance and returns the new total. */
  async countUses(
    tx: Tx,
    tenantId: string,
    { purpose, version }: { purpose: string; version: number },
    count: number,
  ): Promise<number> {
    const { uses } = await tx
      .updateTable('keys')
      .set((eb) => ({ uses: eb('uses', '+', count) }))
      .where('tenant_id', '=', tenantId)
      .where('purpose', '=', purpose)
      .where('version', '=', version)
      .returning('uses')
      .executeTakeFirstOrThrow();
    return uses;
  }

  /** The creation time of each version, oldest first. */
  versionsOf(db: Reader, tenantId: string, purpose: string): Promise<{ version: number; created_at: number }[]> {
    return db
      .selectFrom('keys')
      .select(['version', 'created_at'])
      .where('tenant_id', '=', tenantId)
      .where('purpose', '=', purpose)
      .orderBy('version')
      .execute();
  }

  /** The newest version, from the cache as long as that is fresh. A version is created if there is none, or if the newest is too old or used up. */
  async #newestOf(tenantId: string, purpose: string, maxAgeMs: number, usesMax = Infinity): Promise<Newest> {
    const slot = `${tenantId}\0${purpose}`;
    const now = this.#clock.now();
    const known = this.#newest.get(slot);
    const isFresh = known !== undefined && now - known.checkedAt < NEWEST_TRUSTED_MS;
    const isUsable = usesMax === Infinity || (known?.usesLeft ?? 0) > 0;
    if (isFresh && isUsable && now - known.createdAt < maxAgeMs) return known;

    const row = await this.#newestRow(tenantId, purpose);
    const isSpent = row === undefined || now - row.created_at >= maxAgeMs || row.uses >= usesMax;
    if (isSpent || this.#retired.has(await this.#key(tenantId, purpose, row.version))) {
      await this.#addVersion(tenantId, purpose, (row?.version ?? 0) + 1);
      return this.#newestOf(tenantId, purpose, maxAgeMs, usesMax);
    }
    // The cache is read again, because a concurrent caller may have stored the key there, with uses reserved.
    const current = this.#newest.get(slot);
    if (current?.version === row.version) {
      current.checkedAt = now;
      return current;
    }
    const newest = {
      version: row.version,
      createdAt: row.created_at,
      checkedAt: now,
      usesLeft: 0,
      block: USES_BLOCK_MIN,
    };
    this.#newest.set(slot, newest);
    return newest;
  }

  async #reserved(tenantId: string, purpose: string, maxAgeMs: number): Promise<Newest> {
    const newest = await this.#newestOf(tenantId, purpose, maxAgeMs, KEY_USES_MAX);
    if (newest.usesLeft > 0) return newest;
    const slot = slotOf(tenantId, purpose, newest.version);
    const running = this.#reserving.get(slot);
    if (running !== undefined) return running;
    const reserving = this.#reserve(tenantId, purpose, newest).finally(() => this.#reserving.delete(slot));
    this.#reserving.set(slot, reserving);
    return reserving;
  }

  /** A transaction may have sealed more than was left. The excess is counted with the next block. */
  async #reserve(tenantId: string, purpose: string, newest: Newest): Promise<Newest> {
    const count = newest.block - Math.min(newest.usesLeft, 0);
    await this.#database.transaction((tx) => this.countUses(tx, tenantId, { purpose, version: newest.version }, count));
    newest.usesLeft += count;
    newest.block = nextBlock(newest.block);
    return newest;
  }

  #newestRow(tenantId: string, purpose: string) {
    return this.#database.read
      .selectFrom('keys')
      .select(['version', 'created_at', 'uses'])
      .where('tenant_id', '=', tenantId)
      .where('purpose', '=', purpose)
      .orderBy('version', 'desc')
      .limit(1)
      .executeTakeFirst();
  }

  /** Two nodes may find that a version is due. The insert of the second one fails, and both then use the key of the first. */
  async #addVersion(tenantId: string, purpose: string, version: number): Promise<void> {
    const row = (await this.versionMaker(tenantId, purpose))(version);
    try {
      await this.#database.transaction((tx) => insertKey(tx, row));
    } catch (error) {
      if (!(error instanceof UniqueViolation)) throw error;
    }
  }

  async #tenantKey(tenantId: string): Promise<WrappingKey> {
    const row = await this.#newestRow(tenantId, TENANT_PURPOSE);
    if (row === undefined) throw new Error('the tenant has no key');
    return { key: await this.#key(tenantId, TENANT_PURPOSE, row.version), version: row.version };
  }

  async #key(tenantId: string, purpose: string, version: number): Promise<KeyObject> {
    const slot = slotOf(tenantId, purpose, version);
    const cached = this.#keys.get(slot);
    if (cached !== undefined) return cached;
    const row = await this.#database.read
      .selectFrom('keys')
      .select(['wrapped', 'wrapping_key'])
      .where('tenant_id', '=', tenantId)
      .where('purpose', '=', purpose)
      .where('version', '=', version)
      .executeTakeFirst();
    if (row === undefined) throw new UnsealError();
    const key = await this.#unwrapped({ tenant_id: tenantId, purpose, version, ...row });
    this.#keys.set(slot, key);
    return key;
  }

  async #unwrapped(row: Omit<Tables['keys'], 'uses' | 'created_at'>): Promise<KeyObject> {
    const { tenant_id, purpose, version, wrapped } = row;
    if (purpose === TENANT_PURPOSE) {
      return createSecretKey(unseal(this.#root.key, this.#tenantKeyPlace(tenant_id, version), wrapped));
    }
    const by = await this.#key(tenant_id, TENANT_PURPOSE, tenantKeyVersion(row));
    const { bytes, isRetired } = unwrapByTenant(by, row);
    const key = createSecretKey(bytes);
    if (isRetired) this.#retired.add(key);
    return key;
  }

  #tenantKeyPlace(tenantId: string, version: number): SealedLocation {
    const isBefore = this.#unauthenticated.has(tenantId);
    return isBefore ? keyPlace(tenantId, TENANT_PURPOSE, version) : tenantKeyPlace(tenantId, version);
  }
}

/** Without its keys, whatever a purpose sealed is unreadable. An older backup still has the keys and opens with the root key of that time. */
export async function destroyKeys(tx: Tx, tenantId: string, purpose: string): Promise<void> {
  if (purpose === TENANT_PURPOSE) throw new Error('a tenant keeps its own key');
  await tx.deleteFrom('keys').where('tenant_id', '=', tenantId).where('purpose', '=', purpose).execute();
}

function sealingKeyOf(key: KeyObject, tenantId: string, counted: Pick<Newest, 'version' | 'usesLeft'>): SealingKey {
  return {
    version: counted.version,
    seal: (place, plaintext) => {
      counted.usesLeft--;
      return seal(key, counted.version, { ...place, tenantId }, plaintext);
    },
  };
}

function slotOf(tenantId: string, purpose: string, version: number): string {
  return `${tenantId}\0${purpose}\0${version}`;
}

/** The keys of a tenant whose rows are not authenticated yet, as releases up to 0.4.0 wrapped them; none if the rows are authenticated. */
export async function unauthenticatedTenantKeys(
  db: Reader,
  root: RootKey,
  tenantId: string,
  locking?: 'locked',
): Promise<Tables['keys'][]> {
  const query = db
    .selectFrom('keys')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('purpose', '=', TENANT_PURPOSE)
    .orderBy('version');
  const rows = await (locking === undefined ? query : query.forUpdate()).execute();
  return rows.filter((row) => opens(root, keyPlace(tenantId, TENANT_PURPOSE, row.version), row.wrapped));
}

function opens(root: RootKey, place: SealedLocation, wrapped: Uint8Array): boolean {
  try {
    unseal(root.key, place, wrapped).fill(0);
    return true;
  } catch (error) {
    if (error instanceof UnsealError) return false;
    throw error;
  }
}

/** From here on the tenant's rows are trusted only with a MAC. Creates the row key and returns it. */
export async function beginAuthentication(
  tx: Tx,
  root: RootKey,
  keys: readonly Tables['keys'][],
  now: number,
): Promise<MacKey> {
  let wrapping: WrappingKey | undefined;
  for (const row of keys) {
    const bytes = unseal(root.key, keyPlace(row.tenant_id, TENANT_PURPOSE, row.version), row.wrapped);
    const { wrapped } = wrapByRoot(root, { tenantId: row.tenant_id, version: row.version, bytes, now: row.created_at });
    wrapping = { key: createSecretKey(bytes), version: row.version };
    bytes.fill(0);
    await replaceWrapped(tx, { ...row, wrapped });
  }
  const tenantId = keys[0]?.tenant_id;
  if (wrapping === undefined || tenantId === undefined) throw new Error('the tenant has no key');
  const bytes = randomBytes(KEY_BYTES);
  await insertKey(tx, wrapByTenant(wrapping, { tenantId, purpose: ROW_PURPOSE, version: 1, bytes, now }));
  return macKeyOf(createSecretKey(bytes), 1);
}
