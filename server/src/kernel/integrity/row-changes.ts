import type { MacKey } from '../crypto/keyring.ts';
import { SYSTEM_TENANT } from '../storage/tables.ts';

/**
 * What the audit log says of a row that a change left behind: its digest, or null where it deleted the row; and the digest of the row that it
 * found. Nodes record at the same time, so the log may tell of two changes in the other order: what each of them found tells which was last.
 */
export type RowRecord = readonly [table: string, key: string, digest: string | null, before: string | null];

/**
 * The authenticated rows that one transaction has changed. They must be recorded in the audit log by that same transaction: a commit that
 * leaves some over fails.
 */
export class RowChanges {
  readonly #records = new Map<string, Map<string, RowRecord>>();
  readonly #keys = new Map<string, MacKey>();

  /** Rows of the installation (its signing keys) belong to no tenant's log: an old one that is put back has expired by itself. */
  note(tenantId: string, table: string, key: string, digest: string | null, before: string | null): void {
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

  /** Those of one tenant, which the caller now records. */
  take(tenantId: string): RowRecord[] {
    const records = [...(this.#records.get(tenantId)?.values() ?? [])];
    this.#records.delete(tenantId);
    return records;
  }

  /** A tenant made in this transaction has a key that nobody else can read yet. */
  useKey(tenantId: string, key: MacKey): void {
    this.#keys.set(tenantId, key);
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
