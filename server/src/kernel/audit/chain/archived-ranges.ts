import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { AuthenticatedTable } from '../../integrity/authenticated-table.ts';
import type { Reader } from '../../storage/database.ts';
import type { ArchivesTable } from '../../storage/tables.ts';

/** A range of a tenant's chain that was written to the archive. A range follows the one before it without a gap. */
export type ArchiveRow = ArchivesTable;

/**
 * The rows decide which entries may be missing from the database, so they carry a MAC, and the log records each change of them: anyone who deletes
 * entries cannot make them pass for archived ones.
 */
export const ARCHIVES = new AuthenticatedTable<'audit_archives', ArchiveRow>('audit_archives', {
  key: ['archive_no'],
  covered: [
    'first_seq',
    'last_seq',
    'entries',
    'previous_hash',
    'last_hash',
    'first_at',
    'last_at',
    'object',
    'digest',
    'archived_at',
    'pruned_at',
    'kept',
    'restored_until',
  ],
});

/**
 * What stays in the database of a range that was pruned: the entries that verification compares rows and purges with, and the hash at each
 * checkpoint, without a text.
 */
export type PrunedEntry = readonly [seq: number, hash: string, text: string | null];

const PRUNED_BYTES_MAX = 512 * 1024 * 1024;

export function packPruned(entries: readonly PrunedEntry[]): Buffer {
  return deflateRawSync(JSON.stringify(entries));
}

/** The row must have been checked. */
export function unpackPruned({ kept }: ArchiveRow): PrunedEntry[] {
  if (kept === null) return [];
  return JSON.parse(inflateRawSync(kept, { maxOutputLength: PRUNED_BYTES_MAX }).toString()) as PrunedEntry[];
}

/** The pruned range that begins at this sequence number; null if there is none, or none that the service wrote. */
export async function prunedRangeAt(db: Reader, tenantId: string, seq: number): Promise<ArchiveRow | null> {
  const row = await db
    .selectFrom('audit_archives')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('last_seq', '>=', seq)
    .orderBy('last_seq')
    .limit(1)
    .executeTakeFirst();
  if (row === undefined || row.first_seq !== seq || row.pruned_at === null) return null;
  const [authentic] = await ARCHIVES.authenticOf(db, [row]);
  return authentic ?? null;
}

/** The last pruned range that ends at or before this sequence number. */
export async function lastPrunedUpTo(db: Reader, tenantId: string, seq: number): Promise<ArchiveRow | undefined> {
  const row = await db
    .selectFrom('audit_archives')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('last_seq', '<=', seq)
    .where('pruned_at', 'is not', null)
    .orderBy('last_seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return ARCHIVES.checked(db, row);
}
