import { ARCHIVES, type ArchiveRow } from '../../../kernel/audit/chain/archived-ranges.ts';
import { HASH_BYTES } from '../../../kernel/audit/chain/chain.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { AuditSegmentsTable } from '../../../kernel/storage/tables.ts';

/** The newest archived range of a tenant. */
export async function lastArchive(db: Reader, tenantId: string): Promise<ArchiveRow | undefined> {
  const query = db.selectFrom('audit_archives').selectAll().where('tenant_id', '=', tenantId);
  return ARCHIVES.checked(db, await query.orderBy('archive_no', 'desc').limit(1).executeTakeFirst());
}

/** Ranges whose entries are in the database and older than a time, oldest first. */
export async function prunable(db: Reader, tenantId: string, before: number, limit: number): Promise<ArchiveRow[]> {
  const rows = await db
    .selectFrom('audit_archives')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('pruned_at', 'is', null)
    .where('last_at', '<=', before)
    .orderBy('archive_no')
    .limit(limit)
    .execute();
  return ARCHIVES.checkedAll(db, rows);
}

export async function findArchive(db: Reader, tenantId: string, firstSeq: number): Promise<ArchiveRow | undefined> {
  const row = await db
    .selectFrom('audit_archives')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('last_seq', '>=', firstSeq)
    .orderBy('last_seq')
    .limit(1)
    .executeTakeFirst();
  return ARCHIVES.checked(db, row?.first_seq === firstSeq ? row : undefined);
}

/** All pruned ranges of a tenant, oldest first. */
export async function prunedRanges(db: Reader, tenantId: string): Promise<ArchiveRow[]> {
  const rows = await db
    .selectFrom('audit_archives')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('pruned_at', 'is not', null)
    .orderBy('archive_no')
    .execute();
  return ARCHIVES.checkedAll(db, rows);
}

export async function insertArchive(tx: Tx, row: ArchiveRow): Promise<void> {
  await ARCHIVES.insert(tx, row);
}

/** Locks the row and changes it. Returns null if its state is another one by now. */
export async function changeArchive(
  tx: Tx,
  { tenant_id, archive_no, pruned_at }: ArchiveRow,
  change: Partial<Pick<ArchiveRow, 'pruned_at' | 'kept' | 'restored_until'>>,
): Promise<ArchiveRow | null> {
  const [row] = await ARCHIVES.lockedWhere(tx, (eb) => eb.and({ tenant_id, archive_no }));
  if (row === undefined || row.pruned_at !== pruned_at) return null;
  return ARCHIVES.update(tx, row, change);
}

/** Deletes the segments of a range, and returns the number of their entries. */
export async function deleteRange(
  tx: Tx,
  { tenant_id, first_seq, last_seq }: Pick<ArchiveRow, 'tenant_id' | 'first_seq' | 'last_seq'>,
): Promise<number> {
  const rows = await tx
    .deleteFrom('audit_segments')
    .where('tenant_id', '=', tenant_id)
    .where('first_seq', '>=', first_seq)
    .where('first_seq', '<=', last_seq)
    .returning('hashes')
    .execute();
  return rows.reduce((sum, { hashes }) => sum + (hashes?.length ?? 0) / HASH_BYTES, 0);
}

export async function insertSegments(tx: Tx, rows: readonly AuditSegmentsTable[]): Promise<void> {
  for (const row of rows) await tx.insertInto('audit_segments').values(row).execute();
}

/** The latest time of entries that were pruned; null if none were. */
export async function newestPruned(db: Reader, tenantId: string): Promise<ArchiveRow | undefined> {
  const row = await db
    .selectFrom('audit_archives')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('pruned_at', 'is not', null)
    .orderBy('last_seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return ARCHIVES.checked(db, row);
}
