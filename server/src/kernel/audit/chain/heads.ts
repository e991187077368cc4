import { equalBytes } from '../../crypto/digest.ts';
import type { Keyring, MacKey } from '../../keys/keyring.ts';
import type { Database, Reader } from '../../storage/database.ts';
import { PreparedQuery } from '../../storage/prepared-query.ts';
import type { Tables } from '../../storage/tables.ts';
import type { Anchor } from './anchor.ts';
import { type ChainHead, GENESIS_HASH } from './chain.ts';

/** The purpose of the key that authenticates the head. A tenant is created with its first key of this purpose. */
export const HEAD_PURPOSE = 'audit-head';

/** Entries of this much time at the end of a log could be cut off undetected. */
const ANCHOR_INTERVAL_MS = 1000;

const READ_HEAD = new PreparedQuery<{ tenantId: string }, Tables['audit_heads']>((db, parameter) =>
  db
    .selectFrom('audit_heads')
    .select(['tenant_id', 'seq', 'hash', 'mac', 'key_version'])
    .where('tenant_id', '=', parameter('tenantId')),
);

/**
 * The head of a tenant's chain carries a MAC under a key that the database stores only wrapped. Anyone who can write to the database but has no
 * root key can neither cut off the end of the log nor rewrite it and forge a matching head.
 */
export class Heads {
  readonly anchor: Anchor;
  readonly #keyring: Keyring;
  /** Tenants whose head moved since the anchor was last updated. */
  readonly #moved = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(keyring: Keyring, anchor: Anchor) {
    this.#keyring = keyring;
    this.anchor = anchor;
  }

  /** Updates the anchor soon after heads have moved, from the committed rows. */
  startAnchoring(database: Database): void {
    this.#timer = setInterval(() => void this.raiseAnchor(database), ANCHOR_INTERVAL_MS).unref();
  }

  async stopAnchoring(database: Database): Promise<void> {
    clearInterval(this.#timer);
    await this.raiseAnchor(database);
  }

  /** Only durable heads are noted: after a power cut the database must not look older than the anchor. */
  async raiseAnchor(database: Database): Promise<void> {
    const moved = [...this.#moved];
    this.#moved.clear();
    try {
      const rows = await Promise.all(moved.map((tenantId) => this.row(database.read, tenantId)));
      if (rows.length > 0) await database.sync();
      for (const row of rows) {
        if (row !== undefined && (await this.hasItsMac(row))) this.anchor.note(row.tenant_id, row);
      }
      this.anchor.save();
    } catch (error) {
      for (const tenantId of moved) this.#moved.add(tenantId);
      this.anchor.warn(error);
    }
  }

  /** Call it once a head has been committed, or read outside a transaction: the anchor is raised to what is committed by then. */
  hasMoved(tenantId: string): void {
    this.#moved.add(tenantId);
  }

  /** Call it before a transaction, because the key may have to be created. */
  key(tenantId: string): Promise<MacKey> {
    return this.#keyring.macKey(tenantId, HEAD_PURPOSE);
  }

  async row(db: Reader, tenantId: string): Promise<Tables['audit_heads'] | undefined> {
    return (await READ_HEAD.run(db, { tenantId }))[0];
  }

  rows(db: Reader, tenantIds: readonly string[]): Promise<Tables['audit_heads'][]> {
    return db.selectFrom('audit_heads').selectAll().where('tenant_id', 'in', tenantIds).execute();
  }

  /**
   * Nothing is linked to a head that is not authentic: a new MAC over it would make a manipulated log look intact. If the row has the version of
   * `key`, that key verifies it, because the key of a new tenant is not committed yet. A head older than the anchor is not authentic either, so the
   * row must be read under the lock of the transaction that links: without it, another node could have moved the head since.
   */
  async isAuthentic(row: Tables['audit_heads'], key?: MacKey): Promise<boolean> {
    if (this.anchor.isBehind(row)) return false;
    return this.hasItsMac(row, key);
  }

  /** Whether the service wrote this head, even if long ago. */
  async hasItsMac(row: Tables['audit_heads'], key?: MacKey): Promise<boolean> {
    const covered = macInput(row.tenant_id, row);
    if (row.key_version === key?.version) return isHeadOf(key, row);
    return this.#keyring.verifyMac(
      row.tenant_id,
      { purpose: HEAD_PURPOSE, version: row.key_version },
      covered,
      row.mac,
    );
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
  return { tenant_id: tenantId, seq, hash, mac: key.mac(macInput(tenantId, head)), key_version: key.version };
}

export function genesis(tenantId: string, key: MacKey): Tables['audit_heads'] {
  return headRow(tenantId, { seq: 0, hash: GENESIS_HASH }, key);
}

function macInput(tenantId: string, head: ChainHead): Buffer {
  return Buffer.concat([Buffer.from(`${tenantId}:${head.seq}:`, 'utf8'), head.hash]);
}
