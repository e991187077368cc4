import { equalBytes } from '../crypto/digest.ts';
import type { Keyring, MacKey } from '../crypto/keyring.ts';
import type { Reader } from '../storage/database.ts';
import { PreparedQuery } from '../storage/prepared-query.ts';
import type { Tables } from '../storage/tables.ts';
import { type ChainHead, GENESIS_HASH } from './chain.ts';

/** The purpose whose key seals the head; a tenant is made with its first one. */
export const HEAD_PURPOSE = 'audit-head';

const READ_HEAD = new PreparedQuery<{ tenantId: string }, Tables['audit_heads']>((db, parameter) =>
  db
    .selectFrom('audit_heads')
    .select(['tenant_id', 'seq', 'hash', 'mac', 'mac_key_version'])
    .where('tenant_id', '=', parameter('tenantId')),
);

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
  key(tenantId: string): Promise<MacKey> {
    return this.#keyring.macKey(tenantId, HEAD_PURPOSE);
  }

  async row(db: Reader, tenantId: string): Promise<Tables['audit_heads'] | undefined> {
    return (await READ_HEAD.run(db, { tenantId }))[0];
  }

  /**
   * Nothing is linked to a head that is not authentic: a new MAC over it would make whatever was done to the log look whole. With `key`, one
   * that was made with it is asked of it: a new tenant's key is not committed yet.
   */
  async isAuthentic(row: Tables['audit_heads'], key?: MacKey): Promise<boolean> {
    const covered = macInput(row.tenant_id, row);
    if (row.mac_key_version === key?.version) return isHeadOf(key, row);
    return this.#keyring.verifyMac(row.tenant_id, HEAD_PURPOSE, row.mac_key_version, covered, row.mac);
  }
}

export function isHeadOf(key: MacKey, row: Tables['audit_heads']): boolean {
  return equalBytes(key.mac(macInput(row.tenant_id, row)), row.mac);
}

export function headRow(
  tenantId: string,
  head: ChainHead,
  key: Pick<MacKey, 'version' | 'mac'>,
): Tables['audit_heads'] {
  const { seq, hash } = head;
  return { tenant_id: tenantId, seq, hash, mac: key.mac(macInput(tenantId, head)), mac_key_version: key.version };
}

export function genesis(tenantId: string, key: MacKey): Tables['audit_heads'] {
  return headRow(tenantId, { seq: 0, hash: GENESIS_HASH }, key);
}

function macInput(tenantId: string, head: ChainHead): Buffer {
  return Buffer.concat([Buffer.from(`${tenantId}:${head.seq}:`, 'utf8'), head.hash]);
}
