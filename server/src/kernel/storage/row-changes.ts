import type { MacKey } from '../crypto/mac-key.ts';
import { SYSTEM_TENANT } from './tables.ts';

/**
 * A changed row in the audit log: the digest of the new row, or null if it was deleted, and the digest of the row that the change found. Nodes
 * record concurrently, so the log may list two changes in the wrong order; what each of them found tells which was last.
 */
export type RowRecord = readonly [table: string, key: string, digest: string | null, before: string | null];

/** A token that a transaction revokes. */
export interface RevokedToken {
  readonly tenantId: string;
  readonly tokenId: string;
  readonly expiresAt: number;
}

/**
 * The authenticated rows that one transaction has changed. The same transaction must record them in the audit log: a commit with unrecorded changes
 * fails.
 */
export class RowChanges {
  readonly #records = new Map<string, Map<string, RowRecord>>();
  readonly #keys = new Map<string, MacKey>();
  #revoked: RevokedToken[] = [];

  /** Rows of the installation, its signing keys, belong to no tenant's log: an old one that is restored has expired anyway. */
  note(
    tenantId: string,
    { table, key }: { table: string; key: string },
    digest: string | null,
    before: string | null,
  ): void {
    if (tenantId === SYSTEM_TENANT) return;
    let records = this.#records.get(tenantId);
    if (records === undefined) {
      records = new Map();
      this.#records.set(tenantId, records);
    }
    const name = `${table} ${key}`;
    const found = records.get(name);
    records.set(name, [table, key, digest, found === undefined ? before : found[3]]);
  }

  /** Returns the changes of one tenant, which the caller must record now. */
  take(tenantId: string): RowRecord[] {
    const records = [...(this.#records.get(tenantId)?.values() ?? [])];
    this.#records.delete(tenantId);
    return records;
  }

  /** The key of a tenant that this transaction creates is not visible to others yet. */
  useKey(tenantId: string, key: MacKey): void {
    this.#keys.set(tenantId, key);
  }

  /** Other regions learn of revoked tokens, which the audit log publishes in the same transaction. */
  noteRevoked(...tokens: readonly { tenant_id: string; token_id: string; expires_at: number }[]): void {
    for (const { tenant_id, token_id, expires_at } of tokens)
      this.#revoked.push({ tenantId: tenant_id, tokenId: token_id, expiresAt: expires_at });
  }

  takeRevoked(): RevokedToken[] {
    const revoked = this.#revoked;
    this.#revoked = [];
    return revoked;
  }

  keyOf(tenantId: string): MacKey | undefined {
    return this.#keys.get(tenantId);
  }

  /** Called before the commit. */
  requireRecorded(): void {
    const [left] = [...this.#records.values()].flatMap((records) => [...records.values()]);
    if (left === undefined) return;
    throw new Error(`a change of ${left[0]} was not recorded in the audit log`);
  }
}
