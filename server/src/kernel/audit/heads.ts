import type { KeyObject } from 'node:crypto';
import { equalBytes } from '../crypto/digest.ts';
import type { Keyring, PurposeKey } from '../crypto/keyring.ts';
import type { Reader } from '../storage/database.ts';
import type { Tables } from '../storage/tables.ts';
import { type ChainHead, GENESIS_HASH } from './chain.ts';

/** The purpose whose key seals the head; a tenant is made with its first one. */
export const HEAD_PURPOSE = 'audit-head';

/**
 * The head of a tenant's chain carries a MAC under a key the database holds only wrapped. Who can write to the database but has no
 * root key can neither cut the end off the log nor rewrite it and make a head to fit.
 */
export class Heads {
  readonly #keyring: Keyring;

  constructor(keyring: Keyring) {
    this.#keyring = keyring;
  }

  /** Call before a transaction: the key may have to be made. */
  key(tenantId: string): Promise<PurposeKey> {
    return this.#keyring.purposeKey(tenantId, HEAD_PURPOSE);
  }

  /** The same, for the thread that moves entries. */
  macKey(tenantId: string): Promise<{ version: number; key: KeyObject }> {
    return this.#keyring.macKey(tenantId, HEAD_PURPOSE);
  }

  /**
   * The heads of these tenants, as far as they are authentic. Nothing is linked to one that is not: a new MAC over it would make
   * whatever was done to the log look whole. With `key`, one that was made with it is asked of it: a new tenant's key is not committed yet.
   */
  async authentic(db: Reader, tenantIds: readonly string[], key?: PurposeKey): Promise<Map<string, ChainHead>> {
    const rows = await db.selectFrom('audit_heads').selectAll().where('tenant_id', 'in', tenantIds).execute();
    const heads = new Map<string, ChainHead>();
    for (const row of rows) {
      const isAuthentic =
        row.mac_key_version === key?.version
          ? equalBytes(key.mac(macInput(row.tenant_id, row)), row.mac)
          : await this.isAuthentic(row);
      if (isAuthentic) heads.set(row.tenant_id, row);
    }
    return heads;
  }

  async isAuthentic(row: Tables['audit_heads']): Promise<boolean> {
    return this.#keyring.verifyMac(
      row.tenant_id,
      HEAD_PURPOSE,
      row.mac_key_version,
      macInput(row.tenant_id, row),
      row.mac,
    );
  }
}

export function headRow(
  tenantId: string,
  head: ChainHead,
  key: Pick<PurposeKey, 'version' | 'mac'>,
): Tables['audit_heads'] {
  const { seq, hash } = head;
  return { tenant_id: tenantId, seq, hash, mac: key.mac(macInput(tenantId, head)), mac_key_version: key.version };
}

export function genesis(tenantId: string, key: PurposeKey): Tables['audit_heads'] {
  return headRow(tenantId, { seq: 0, hash: GENESIS_HASH }, key);
}

function macInput(tenantId: string, head: ChainHead): Buffer {
  return Buffer.concat([Buffer.from(`${tenantId}:${head.seq}:`, 'utf8'), head.hash]);
}
