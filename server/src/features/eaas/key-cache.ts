import type { KeyObject } from 'node:crypto';
import { BoundedCache, SECRET_KEY_BYTES } from '../../kernel/base/bounded-cache.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { UnsealError } from '../../kernel/crypto/sealing.ts';
import { nextBlock, USES_BLOCK_MIN } from '../../kernel/keys/keyring.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { purposeOf } from './key-material.ts';
import { findKey, type KeyRow, lockKey, updateKey } from './store.ts';

const BYTES_MAX = 8 * 1024 * 1024;
/** The text columns of a key's row, except the description. */
const ROW_BYTES = 1024;
/** With random IVs, AES-GCM is safe for 2^32 encryptions under one key. A new version is created far earlier. */
export const USES_MAX = 2 ** 30;

/** A key as it was in one epoch of the tenant. */
interface CachedKey {
  epoch: number;
  row: KeyRow;
  newest: KeyObject;
  uses: Uses;
}

/** How many encryptions a version has left before the next block is reserved. Shared by all cache entries of that version, whatever their epoch. */
interface Uses {
  version: string;
  left: number;
  /** The size of the next block; see the keyring's blocks. */
  block: number;
}

/**
 * Caches unwrapped keys for as long as the tenant's epoch stays the same. Rotating or deleting a key raises the epoch, so it takes effect on the next
 * request on every node.
 */
export class KeyCache {
  readonly #kernel: Pick<Kernel, 'audit' | 'database' | 'keyring'>;
  readonly #cache = new BoundedCache<string, CachedKey>({
    bytesMax: BYTES_MAX,
    bytesOf: ({ row }) => SECRET_KEY_BYTES + ROW_BYTES + 2 * row.description.length,
  });

  constructor(kernel: Pick<Kernel, 'audit' | 'database' | 'keyring'>) {
    this.#kernel = kernel;
  }

  /** Returns the newest version, for `count` encryptions. */
  async forEncryption(ctx: Context, name: string, count: number): Promise<{ key: KeyObject; version: number }> {
    for (;;) {
      const { row, newest, uses } = await this.#current(ctx, name);
      if (uses.left >= count || (await this.#reserve(ctx, row, uses, count))) {
        uses.left -= count;
        return { key: newest, version: row.latest_version };
      }
      // The key was rotated, by us or by somebody else: the cached version is no longer the newest, whatever epoch this request began in.
      this.#cache.delete(slotOf(ctx, name));
    }
  }

  /** Returns the key of this version, or null if there is none. */
  async forDecryption(ctx: Context, name: string, version: number): Promise<KeyObject | null> {
    const { row, newest } = await this.#current(ctx, name);
    if (version === row.latest_version) return newest;
    if (version > row.latest_version) return null;
    try {
      return await this.#kernel.keyring.keyAt(row.tenant_id, purposeOf(row.key_id), version);
    } catch (error) {
      if (error instanceof UnsealError) return null;
      throw error;
    }
  }

  async refuseUnknown(ctx: Context, name: string): Promise<void> {
    await this.#current(ctx, name);
  }

  async #current(ctx: Context, name: string): Promise<CachedKey> {
    const slot = slotOf(ctx, name);
    const cached = this.#cache.get(slot);
    if (cached !== undefined && cached.epoch === ctx.caller.epoch) return cached;
    const row = await findKey(ctx.database.read, ctx.tenantId, name);
    if (row === undefined) throw notFound('encryption key');
    const newest = await this.#kernel.keyring.keyAt(row.tenant_id, purposeOf(row.key_id), row.latest_version);
    const version = `${row.key_id} ${row.latest_version}`;
    const known = this.#cache.get(slot)?.uses;
    const uses = known?.version === version ? known : { version, left: 0, block: USES_BLOCK_MIN };
    const fresh = { epoch: ctx.caller.epoch, row, newest, uses };
    this.#cache.set(slot, fresh);
    return fresh;
  }

  /**
   * Reserves a block of uses if the version is still the newest. Once its limit is reached, a new version is created instead, in one transaction with
   * the audit entry for it.
   */
  async #reserve(ctx: Context, cached: KeyRow, uses: Uses, count: number): Promise<boolean> {
    const { tenant_id: tenantId, name, key_id: keyId, latest_version: version } = cached;
    const { keyring, database, audit } = this.#kernel;
    const nextVersion = await keyring.versionMaker(tenantId, purposeOf(keyId));
    const headKey = await audit.headKey(tenantId);
    const block = Math.max(uses.block, count);
    const isReserved = await database.forTenant(tenantId).transaction(async (tx) => {
      const row = await lockKey(tx, tenantId, name);
      if (row?.key_id !== keyId || row.latest_version !== version) return false;
      const used = await keyring.countUses(tx, tenantId, { purpose: purposeOf(keyId), version }, block);
      if (used < USES_MAX) return true;
      await keyring.insertVersion(tx, nextVersion(version + 1));
      await updateKey(tx, tenantId, name, { latest_version: version + 1, rotated_at: ctx.now, updated_at: ctx.now });
      await raiseEpoch(tx, tenantId);
      const details = { version: version + 1, reason: 'used often enough' };
      await audit.recordIn(tx, [ctx.record.separateEntry('eaas:rotate', `eaas/${name}`, details)], headKey);
      return false;
    });
    if (isReserved) {
      uses.left += block;
      uses.block = nextBlock(uses.block);
    }
    return isReserved;
  }
}

function slotOf(ctx: Context, name: string): string {
  return `${ctx.tenantId} ${name}`;
}
