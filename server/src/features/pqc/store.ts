import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { type Page, pageOf } from '../../kernel/wire/cursor.ts';

export interface PqcTables {
  pqc_keys: PqcKeyRow;
}

/** A version of a key. It is immutable, except that it may be endorsed, retired or destroyed. */
export interface PqcKeyRow {
  /** The system tenant for keys of the installation. */
  tenant_id: string;
  algorithm: string;
  version: number;
  /** Derived from the public key. */
  key_id: string;
  public_key: Uint8Array;
  /** If destroyed, a sealed empty text: it is sealed so that a foreign public key cannot be inserted as one of the tenant's. */
  sealed_private: Uint8Array;
  created_at: number;
  /** The previous key's signature over this one's id. */
  endorsement: Uint8Array | null;
  destroyed_at: number | null;
  /** Set by a rekey: the key still unwraps and verifies, and is used for nothing new. */
  retired_at: number | null;
}

export function findNewest(db: Reader, tenantId: string, algorithm: string): Promise<PqcKeyRow | undefined> {
  return db
    .selectFrom('pqc_keys')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('algorithm', '=', algorithm)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst();
}

export function findById(db: Reader, tenantId: string, keyId: string): Promise<PqcKeyRow | undefined> {
  return db
    .selectFrom('pqc_keys')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('key_id', '=', keyId)
    .executeTakeFirst();
}

export async function insertKey(tx: Tx, row: PqcKeyRow): Promise<void> {
  await tx.insertInto('pqc_keys').values(row).execute();
}

/** Returns false if another node was first. */
export async function storeEndorsement(
  tx: Tx,
  { tenant_id, key_id }: Pick<PqcKeyRow, 'tenant_id' | 'key_id'>,
  endorsement: Uint8Array,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('pqc_keys')
    .set({ endorsement })
    .where('tenant_id', '=', tenant_id)
    .where('key_id', '=', key_id)
    .where('endorsement', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** For a key that is destroyed or retired. */
export async function replacePrivate(
  tx: Tx,
  { tenant_id, key_id }: Pick<PqcKeyRow, 'tenant_id' | 'key_id'>,
  change: Pick<PqcKeyRow, 'sealed_private'> & Partial<Pick<PqcKeyRow, 'destroyed_at' | 'retired_at'>>,
): Promise<void> {
  await tx
    .updateTable('pqc_keys')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('key_id', '=', key_id)
    .execute();
}

export function everyVersion(db: Reader, tenantId: string): Promise<PqcKeyRow[]> {
  return db.selectFrom('pqc_keys').selectAll().where('tenant_id', '=', tenantId).orderBy('key_id').execute();
}

/** Newest first. */
export function listVersions(db: Reader, tenantId: string, algorithm: string, limit: number): Promise<PqcKeyRow[]> {
  return db
    .selectFrom('pqc_keys')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('algorithm', '=', algorithm)
    .orderBy('version', 'desc')
    .limit(limit)
    .execute();
}

/** The first part of the cursor distinguishes it from cursors of other lists. */
export const CURSOR_KIND = 'pqc';

/** Ordered by algorithm, the newest version of each first. */
export async function listKeys(
  db: Reader,
  tenantId: string,
  algorithm: string | null,
  { after, limit }: { after: { algorithm: string; version: number } | null; limit: number },
): Promise<Page<PqcKeyRow>> {
  let query = db
    .selectFrom('pqc_keys')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('algorithm', 'desc')
    .orderBy('version', 'desc')
    .limit(limit + 1);
  if (algorithm !== null) query = query.where('algorithm', '=', algorithm);
  if (after !== null) {
    query = query.where((eb) =>
      eb.or([
        eb('algorithm', '<', after.algorithm),
        eb.and([eb('algorithm', '=', after.algorithm), eb('version', '<', after.version)]),
      ]),
    );
  }
  return pageOf(await query.execute(), limit, (row) => [CURSOR_KIND, row.algorithm, String(row.version)]);
}
