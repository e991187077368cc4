import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { StartError } from '../storage/data-folder.ts';
import type { Tx } from '../storage/database.ts';
import type { Tables } from '../storage/tables.ts';
import {
  insertKey,
  KEY_BYTES,
  keyPlace,
  type MacKey,
  macKeyOf,
  replaceWrapped,
  TENANT_PURPOSE,
  tenantKeyPlace,
  tenantKeyVersion,
  type WrappingKey,
  wrapByRoot,
  wrapByTenant,
} from './key-wrapping.ts';
import type { RootKey } from './root-key.ts';
import { type Place, seal, sealedKeyVersion, UnsealError, unseal } from './sealing.ts';

export interface RootChange {
  from: RootKey;
  to: RootKey;
  now: number;
}

/** The tenants that have a key, the installation itself among them, with every key locked. */
export async function lockKeys(tx: Tx): Promise<string[]> {
  const rows = await tx.selectFrom('keys').select(['tenant_id', 'purpose']).forUpdate().execute();
  return [
    ...new Set(rows.filter(({ purpose }) => purpose === TENANT_PURPOSE).map(({ tenant_id }) => tenant_id)),
  ].sort();
}

/**
 * The keys of a tenant in the transaction that replaces the root key. A stolen copy of the database and the old root key open every key from
 * before, so each purpose gets a new version, under a new key of the tenant: the old versions open what they sealed, and seal nothing more.
 */
export class RekeyedTenant {
  readonly tenantId: string;
  /** How many keys there were, without those that did not open. */
  readonly count: number;
  readonly #old: ReadonlyMap<string, ReadonlyMap<number, KeyObject>>;
  readonly #fresh: ReadonlyMap<string, WrappingKey>;

  private constructor(
    tenantId: string,
    old: ReadonlyMap<string, ReadonlyMap<number, KeyObject>>,
    fresh: ReadonlyMap<string, WrappingKey>,
  ) {
    this.tenantId = tenantId;
    this.#old = old;
    this.#fresh = fresh;
    this.count = [...old.values()].reduce((sum, versions) => sum + versions.size, 0);
  }

  static async replace(tx: Tx, tenantId: string, { from, to, now }: RootChange): Promise<RekeyedTenant> {
    const rows = await tx.selectFrom('keys').selectAll().where('tenant_id', '=', tenantId).orderBy('version').execute();
    const ofTenant = rows.filter(({ purpose }) => purpose === TENANT_PURPOSE);
    const unwrapping = openTenantKeys(ofTenant, from);
    const wrapping = await replaceTenantKey(tx, ofTenant, to, now);

    const old = new Map<string, Map<number, KeyObject>>();
    const fresh = new Map<string, WrappingKey>();
    for (const [purpose, versions] of Map.groupBy(rows, (row) => row.purpose)) {
      if (purpose === TENANT_PURPOSE) continue;
      const opened = new Map<number, KeyObject>();
      for (const row of versions) {
        const key = await rewrap(tx, row, unwrapping, wrapping);
        if (key !== null) opened.set(row.version, key);
      }
      old.set(purpose, opened);
      const version = (versions.at(-1)?.version ?? 0) + 1;
      fresh.set(purpose, await addVersion(tx, { tenantId, purpose, version }, wrapping, now));
    }
    return new RekeyedTenant(tenantId, old, fresh);
  }

  /** Whether the tenant ever needed a key for this. */
  has(purpose: string): boolean {
    return this.#fresh.has(purpose);
  }

  /** The new key of a purpose, if it makes MACs. */
  macKey(purpose: string): MacKey {
    const { key, version } = this.#newest(purpose);
    return macKeyOf(key, version);
  }

  newVersion(purpose: string): number {
    return this.#newest(purpose).version;
  }

  /** One from before; undefined if there was none, or it does not open. */
  oldMacKey(purpose: string, version: number): MacKey | undefined {
    const key = this.#old.get(purpose)?.get(version);
    return key && macKeyOf(key, version);
  }

  /** The newest one from before. */
  newestOldMacKey(purpose: string): MacKey | undefined {
    const version = Math.max(0, ...(this.#old.get(purpose)?.keys() ?? []));
    return this.oldMacKey(purpose, version);
  }

  unseal(purpose: string, place: Omit<Place, 'tenantId'>, sealed: Uint8Array): Buffer {
    const key = this.#old.get(purpose)?.get(sealedKeyVersion(sealed));
    if (key === undefined) throw new UnsealError();
    return unseal(key, { ...place, tenantId: this.tenantId }, sealed);
  }

  seal(purpose: string, place: Omit<Place, 'tenantId'>, plaintext: Uint8Array): Buffer {
    const { key, version } = this.#newest(purpose);
    return seal(key, version, { ...place, tenantId: this.tenantId }, plaintext);
  }

  /** Whatever is sealed or authenticated by an old version of this purpose is worth nothing from now on. */
  async destroyOld(tx: Tx, purpose: string): Promise<void> {
    if (!this.has(purpose)) return;
    await tx
      .deleteFrom('keys')
      .where('tenant_id', '=', this.tenantId)
      .where('purpose', '=', purpose)
      .where('version', '<', this.newVersion(purpose))
      .execute();
  }

  #newest(purpose: string): WrappingKey {
    const newest = this.#fresh.get(purpose);
    if (newest === undefined) throw new Error(`the tenant has no key for ${purpose}`);
    return newest;
  }
}

/** Rows that somebody added or edited open nothing, and are left out. */
function openTenantKeys(rows: readonly Tables['keys'][], from: RootKey): ReadonlyMap<number, KeyObject> {
  const opened = new Map<number, KeyObject>();
  for (const { tenant_id, version, wrapped } of rows) {
    const key = openedKey(from.key, tenantKeyPlace(tenant_id, version), wrapped);
    if (key !== null) opened.set(version, key);
  }
  const [first] = rows;
  if (opened.size > 0 || first === undefined) return opened;
  throw new StartError(
    `The key of ${first.tenant_id} does not open: it was edited, or its rows are not authenticated yet. Restore a backup of the database, or run "coffer server authenticate-rows ${first.tenant_id}", then repeat; nothing was changed.`,
  );
}

async function replaceTenantKey(
  tx: Tx,
  rows: readonly Tables['keys'][],
  to: RootKey,
  now: number,
): Promise<WrappingKey> {
  const last = rows.at(-1);
  if (last === undefined) throw new Error('the tenant has no key');
  const version = last.version + 1;
  const bytes = randomBytes(KEY_BYTES);
  await tx.deleteFrom('keys').where('tenant_id', '=', last.tenant_id).where('purpose', '=', TENANT_PURPOSE).execute();
  await insertKey(tx, wrapByRoot(to, last.tenant_id, version, bytes, now));
  return asWrapping(bytes, version);
}

async function rewrap(
  tx: Tx,
  row: Tables['keys'],
  unwrapping: ReadonlyMap<number, KeyObject>,
  wrapping: WrappingKey,
): Promise<KeyObject | null> {
  const by = unwrapping.get(tenantKeyVersion(row));
  const key = by && openedKey(by, keyPlace(row.tenant_id, row.purpose, row.version), row.wrapped);
  if (!key) return null;
  const bytes = key.export();
  const { wrapped, wrapped_by } = wrapByTenant(
    wrapping,
    row.tenant_id,
    row.purpose,
    row.version,
    bytes,
    row.created_at,
  );
  bytes.fill(0);
  await replaceWrapped(tx, { ...row, wrapped, wrapped_by });
  return key;
}

async function addVersion(
  tx: Tx,
  { tenantId, purpose, version }: { tenantId: string; purpose: string; version: number },
  wrapping: WrappingKey,
  now: number,
): Promise<WrappingKey> {
  const bytes = randomBytes(KEY_BYTES);
  await insertKey(tx, wrapByTenant(wrapping, tenantId, purpose, version, bytes, now));
  return asWrapping(bytes, version);
}

function asWrapping(bytes: Buffer, version: number): WrappingKey {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return { key, version };
}

function openedKey(by: KeyObject, place: Place, wrapped: Uint8Array): KeyObject | null {
  try {
    return createSecretKey(unseal(by, place, wrapped));
  } catch (error) {
    if (error instanceof UnsealError) return null;
    throw error;
  }
}
