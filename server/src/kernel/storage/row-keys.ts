import { BoundedCache, SECRET_KEY_BYTES } from '../base/bounded-cache.ts';
import { equalBytes } from '../crypto/digest.ts';
import type { MacKey } from '../crypto/mac-key.ts';
import { UnsealError } from '../crypto/sealing.ts';

const KEYS_BOUNDS = { bytesMax: 8 * 1024 * 1024, bytesOf: () => SECRET_KEY_BYTES };
const VERSION_BYTES = 4;

/** The purpose of the key that authenticates a tenant's rows. It is used only for MACs, and only a rekey replaces it. */
export const ROW_PURPOSE = 'rows';

/** The source of row keys: the keyring, once it is open. */
export interface RowKeySource {
  newestRowKey(tenantId: string): Promise<MacKey>;
}

/** A row that decides access was not written by the service. */
export class ForgedRowError extends Error {
  override readonly name = 'ForgedRowError';
  readonly table: string;
  readonly row: string;

  constructor(table: string, row: string) {
    super(`a row of ${table} was forged or edited: ${row}`);
    this.table = table;
    this.row = row;
  }
}

/**
 * The keys that authenticate rows, one per tenant. Only the newest version counts: an older one, from a stolen copy of the database and an old root
 * key, authenticates nothing.
 */
export class RowKeys {
  readonly #keys = new BoundedCache<string, MacKey>(KEYS_BOUNDS);
  #source: RowKeySource | null = null;
  #report: (error: ForgedRowError) => void = () => {};

  use(source: RowKeySource, report: (error: ForgedRowError) => void): void {
    this.#source = source;
    this.#report = report;
    this.#keys.clear();
  }

  /** The synchronous variant, if the key is cached. */
  cached(tenantId: string): MacKey | undefined {
    return this.#keys.get(tenantId);
  }

  async key(tenantId: string): Promise<MacKey> {
    const cached = this.#keys.get(tenantId);
    if (cached !== undefined) return cached;
    if (this.#source === null) throw new Error('rows cannot be authenticated before the keys are open');
    const key = await this.#source.newestRowKey(tenantId);
    this.#keys.set(tenantId, key);
    return key;
  }

  /** For verification: null if the key does not exist or cannot be unwrapped, which means that the row cannot be trusted. */
  async keyForCheck(tenantId: string): Promise<MacKey | null> {
    try {
      return await this.key(tenantId);
    } catch (error) {
      if (error instanceof UnsealError) return null;
      throw error;
    }
  }

  refuse(table: string, row: string): ForgedRowError {
    const error = new ForgedRowError(table, row);
    this.#report(error);
    return error;
  }
}

/** `key version(4) ‖ HMAC-SHA256(32)` */
export function rowMac(key: MacKey, text: string): Buffer {
  const mac = key.mac(text);
  const versioned = Buffer.allocUnsafe(VERSION_BYTES + mac.length);
  versioned.writeUInt32BE(key.version);
  mac.copy(versioned, VERSION_BYTES);
  return versioned;
}

export function isRowMac(key: MacKey, text: string, mac: Uint8Array | null | undefined): boolean {
  return mac !== null && mac !== undefined && equalBytes(mac, rowMac(key, text));
}
