import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { StartError } from '../base/data-folder.ts';
import { type MacKey, macKeyOf } from '../crypto/mac-key.ts';
import type { RootKey } from '../crypto/root-key.ts';
import { type SealedLocation, seal, sealedKeyVersion, UnsealError, unseal } from '../crypto/sealing.ts';
import type { Tx } from '../storage/database.ts';
import type { Tables } from '../storage/tables.ts';
import {
  KEY_BYTES,
  retiredKeyPlace,
  TENANT_PURPOSE,
  tenantKeyPlace,
  tenantKeyVersion,
  unwrapByTenant,
  type WrappingKey,
  wrapByRoot,
  wrapByTenant,
} from './key-wrapping.ts';

/** Rows written per statement. */
const WRITTEN_AT_ONCE = 500;

export interface RootChange {
  from: RootKey;
  to: RootKey;
  now: number;
}

/** Locks every key and returns the tenants that have one, including the installation itself. */
export async function lockKeys(tx: Tx): Promise<string[]> {
  const rows = await tx.selectFrom('keys').select(['tenant_id', 'purpose']).forUpdate().execute();
  return [
    ...new Set(rows.filter(({ purpose }) => purpose === TENANT_PURPOSE).map(({ tenant_id }) => tenant_id)),
  ].sort();
}

/**
 * The keys of a tenant in the transaction that replaces the root key. A stolen copy of the database and the old root key open every older key, so
 * each purpose gets a new version under a new tenant key. The old versions only unseal.
 */
export class RekeyedTenant {
  readonly tenantId: string;
  /** The number of keys, without those that could not be unwrapped. */
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

  /** For the purposes in `ended`, the old versions are deleted: whatever they sealed or authenticated is worthless from then on. */
  static async replace(
    tx: Tx,
    tenantId: string,
    change: RootChange & { ended: readonly string[] },
  ): Promise<RekeyedTenant> {
    const { from, to, now, ended } = change;
    const rows = await tx.selectFrom('keys').selectAll().where('tenant_id', '=', tenantId).orderBy('version').execute();
    const ofTenant = rows.filter(({ purpose }) => purpose === TENANT_PURPOSE);
    const unwrapping = openTenantKeys(ofTenant, from);
    const tenantKey = randomBytes(KEY_BYTES);
    const wrapping = { key: createSecretKey(tenantKey), version: (ofTenant.at(-1)?.version ?? 0) + 1 };
    const written = [wrapByRoot(to, { tenantId, version: wrapping.version, bytes: tenantKey, now })];
    tenantKey.fill(0);

    const old = new Map<string, Map<number, KeyObject>>();
    const fresh = new Map<string, WrappingKey>();
    for (const [purpose, versions] of Map.groupBy(rows, (row) => row.purpose)) {
      if (purpose === TENANT_PURPOSE) continue;
      const opened = openVersions(versions, unwrapping);
      old.set(purpose, opened);
      if (!ended.includes(purpose)) written.push(...versions.flatMap((row) => rewrapped(row, opened, wrapping)));
      const newest = { key: createSecretKey(randomBytes(KEY_BYTES)), version: (versions.at(-1)?.version ?? 0) + 1 };
      fresh.set(purpose, newest);
      const { key, version } = newest;
      written.push(wrapByTenant(wrapping, { tenantId, purpose, version, bytes: key.export(), now }));
    }
    await replaceAll(tx, tenantId, written);
    return new RekeyedTenant(tenantId, old, fresh);
  }

  /** Whether the tenant ever needed a key for this purpose. */
  has(purpose: string): boolean {
    return this.#fresh.has(purpose);
  }

  /** The new MAC key of a purpose. */
  macKey(purpose: string): MacKey {
    const { key, version } = this.#newest(purpose);
    return macKeyOf(key, version);
  }

  newVersion(purpose: string): number {
    return this.#newest(purpose).version;
  }

  /** A MAC key from before the rekey; undefined if there was none or it could not be unwrapped. */
  oldMacKey(purpose: string, version: number): MacKey | undefined {
    const key = this.#old.get(purpose)?.get(version);
    return key && macKeyOf(key, version);
  }

  /** The newest MAC key from before the rekey. */
  newestOldMacKey(purpose: string): MacKey | undefined {
    const version = Math.max(0, ...(this.#old.get(purpose)?.keys() ?? []));
    return this.oldMacKey(purpose, version);
  }

  unseal(purpose: string, place: Omit<SealedLocation, 'tenantId'>, sealed: Uint8Array): Buffer {
    const key = this.#old.get(purpose)?.get(sealedKeyVersion(sealed));
    if (key === undefined) throw new UnsealError();
    return unseal(key, { ...place, tenantId: this.tenantId }, sealed);
  }

  seal(purpose: string, place: Omit<SealedLocation, 'tenantId'>, plaintext: Uint8Array): Buffer {
    const { key, version } = this.#newest(purpose);
    return seal(key, version, { ...place, tenantId: this.tenantId }, plaintext);
  }

  #newest(purpose: string): WrappingKey {
    const newest = this.#fresh.get(purpose);
    if (newest === undefined) throw new Error(`the tenant has no key for ${purpose}`);
    return newest;
  }
}

/** Rows that somebody added or edited cannot be unwrapped and are skipped. */
function openTenantKeys(rows: readonly Tables['keys'][], from: RootKey): ReadonlyMap<number, KeyObject> {
  const opened = new Map<number, KeyObject>();
  for (const { tenant_id, version, wrapped } of rows) {
    const key = openedKey(() => unseal(from.key, tenantKeyPlace(tenant_id, version), wrapped));
    if (key !== null) opened.set(version, key);
  }
  const [first] = rows;
  if (opened.size > 0 || first === undefined) return opened;
  throw new StartError(
    `The key of ${first.tenant_id} cannot be decrypted: it was edited, or its rows are not authenticated yet. Restore a backup of the database, or run "coffer server authenticate-rows ${first.tenant_id}", then try again; nothing was changed.`,
  );
}

function openVersions(
  rows: readonly Tables['keys'][],
  unwrapping: ReadonlyMap<number, KeyObject>,
): Map<number, KeyObject> {
  const opened = new Map<number, KeyObject>();
  for (const row of rows) {
    const by = unwrapping.get(tenantKeyVersion(row));
    const key = by && openedKey(() => unwrapByTenant(by, row).bytes);
    if (key) opened.set(row.version, key);
  }
  return opened;
}

/** Wraps an old key as retired, so that it only unseals. A key that could not be unwrapped is left out, because nobody can use it. */
function rewrapped(
  row: Tables['keys'],
  opened: ReadonlyMap<number, KeyObject>,
  wrapping: WrappingKey,
): Tables['keys'][] {
  const key = opened.get(row.version);
  if (key === undefined) return [];
  const { tenant_id, purpose, version } = row;
  const place = retiredKeyPlace(tenant_id, purpose, version);
  const retired = { tenantId: tenant_id, purpose, version, bytes: key.export(), now: 0 };
  const { wrapped, wrapping_key } = wrapByTenant(wrapping, retired, place);
  return [{ ...row, wrapped, wrapping_key }];
}

async function replaceAll(tx: Tx, tenantId: string, rows: readonly Tables['keys'][]): Promise<void> {
  await tx.deleteFrom('keys').where('tenant_id', '=', tenantId).execute();
  for (let at = 0; at < rows.length; at += WRITTEN_AT_ONCE) {
    await tx
      .insertInto('keys')
      .values(rows.slice(at, at + WRITTEN_AT_ONCE))
      .execute();
  }
}

function openedKey(unwrap: () => Uint8Array): KeyObject | null {
  try {
    return createSecretKey(unwrap());
  } catch (error) {
    if (error instanceof UnsealError) return null;
    throw error;
  }
}
