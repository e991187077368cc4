import { sql } from 'kysely';
import { HASH_BYTES } from '../../kernel/audit/chain/chain.ts';
import { windowEnd } from '../../kernel/audit/chain/chain-walk.ts';
import { readEntries } from '../../kernel/audit/chain/segment.ts';
import { PASSED_TOMBSTONE, type Unlinked } from '../../kernel/audit/postgres/node-segments.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { AuditSegmentsTable, Tables } from '../../kernel/storage/tables.ts';
import { type Page, pageOf } from '../../kernel/wire/cursor.ts';

export interface AuditTables {
  audit_checkpoints: CheckpointRow;
  audit_compaction: CompactionRow;
}

/** A signed statement of how far a tenant's chain had come. A row never changes. */
export interface CheckpointRow {
  tenant_id: string;
  /** Counted up from 1, so that a deleted checkpoint leaves a gap. */
  checkpoint_no: number;
  /** The last entry of the log at signing. */
  seq: number;
  hash: Uint8Array;
  signed_at: number;
  /** The id of one of the installation's keys. */
  key_id: string;
  signature: Uint8Array;
}

/** How far the segments of a log were merged. It decides nothing: with another number, segments are read again, or stay small. */
export interface CompactionRow {
  tenant_id: string;
  /** The last sequence number of a window of the chain. */
  seq: number;
}

/**
 * At most `limit` segments, newest first, beginning with the segment of this id, which may have been listed in part. Segments outside the chain are
 * left out; segments that wait to be linked are included. Fewer are loaded if their texts are long.
 */
export async function segmentsBack(
  db: Reader,
  tenantId: string,
  from: string | null,
  limit: number,
): Promise<{ segments: AuditSegmentsTable[]; isLast: boolean }> {
  const fit = await fitting(db, tenantId, from, limit);
  const segments = await back(db, tenantId, from).selectAll().limit(fit).execute();
  return { segments, isLast: segments.length < fit };
}

/** Text that one statement loads and that is parsed at once. A segment may have a thousand entries with long names. */
const TEXT_BYTES_AT_ONCE = 1024 * 1024;

/** How many of the segments may be loaded at once: one at least. */
async function fitting(db: Reader, tenantId: string, from: string | null, limit: number): Promise<number> {
  const bytes = sql<number>`octet_length(entries) + coalesce(octet_length(packed), 0)`.as('bytes');
  const sizes = await back(db, tenantId, from).select(bytes).limit(limit).execute();
  let total = 0;
  const end = sizes.findIndex(({ bytes }) => {
    total += Number(bytes);
    return total > TEXT_BYTES_AT_ONCE;
  });
  return end === -1 ? limit : Math.max(end, 1);
}

function back(db: Reader, tenantId: string, from: string | null) {
  const query = db
    .selectFrom('audit_segments')
    .where('tenant_id', '=', tenantId)
    .where((eb) =>
      eb.or([
        eb.and([eb('first_seq', 'is', null), eb('node_no', 'is not', null)]),
        eb.and([eb('first_seq', '>=', 1), eb('first_seq', '<=', headSeq(tenantId))]),
      ]),
    )
    .orderBy('id', 'desc');
  return from === null ? query : query.where('id', '<=', from);
}

/**
 * Segments that are not in the chain: refused, written by somebody else, or waiting to be linked, except for those of `waitingNodes`. The head is read in the same query because it may
 * advance meanwhile.
 */
export async function segmentsWithoutPlace(
  db: Reader,
  tenantId: string,
  waitingNodes: ReadonlySet<string>,
  limit: number,
): Promise<Pick<AuditSegmentsTable, 'id' | 'first_seq' | 'node_no'>[]> {
  return db
    .selectFrom('audit_segments')
    .select(['id', 'first_seq', 'node_no'])
    .where('tenant_id', '=', tenantId)
    .where((eb) =>
      eb.or([eb('first_seq', 'is', null), eb('first_seq', '<', 1), eb('first_seq', '>', headSeq(tenantId))]),
    )
    .where((eb) =>
      eb.or([
        eb('first_seq', 'is not', null),
        eb('node_id', 'is', null),
        eb('node_id', 'not in', ['', ...waitingNodes]),
      ]),
    )
    .where((eb) => eb.or([eb('first_seq', 'is', null), eb('first_seq', '!=', PASSED_TOMBSTONE)]))
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Rows that hold the places of segments which were lost, in the order of their ids. */
export async function passedTombstones(
  db: Reader,
  tenantId: string,
  after: string,
  limit: number,
): Promise<Unlinked[]> {
  return db
    .selectFrom('audit_segments')
    .select(['tenant_id', 'id', 'entries', 'node_id', 'node_no', 'voids', 'mac', 'mac_key_version'])
    .where('tenant_id', '=', tenantId)
    .where('first_seq', '=', PASSED_TOMBSTONE)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Which of these segments are still not linked, with the node that says it wrote them. */
export async function unlinkedOf(
  db: Reader,
  tenantId: string,
  ids: readonly string[],
): Promise<Pick<AuditSegmentsTable, 'id' | 'node_id'>[]> {
  return db
    .selectFrom('audit_segments')
    .select(['id', 'node_id'])
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .where('first_seq', 'is', null)
    .orderBy('id')
    .execute();
}

/** Linking runs every second, so only a log that cannot be linked has more. */
const UNLINKED_MAX = 5000;

/** Segments that a node says it wrote and that are not linked yet, oldest first. */
export async function unlinkedSegments(db: Reader, tenantId: string): Promise<Unlinked[]> {
  return db
    .selectFrom('audit_segments')
    .select(['tenant_id', 'id', 'entries', 'node_id', 'node_no', 'voids', 'mac', 'mac_key_version'])
    .where('tenant_id', '=', tenantId)
    .where('first_seq', 'is', null)
    .where('node_no', 'is not', null)
    .orderBy('id')
    .limit(UNLINKED_MAX)
    .execute();
}

function headSeq(tenantId: string) {
  return sql<number>`coalesce((select seq from audit_heads where tenant_id = ${tenantId}), 0)`;
}

export function findHead(db: Reader, tenantId: string): Promise<Tables['audit_heads'] | undefined> {
  return db.selectFrom('audit_heads').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst();
}

/** The segment that contains this sequence number, if the chain is intact. */
export function segmentHolding(db: Reader, tenantId: string, seq: number): Promise<AuditSegmentsTable | undefined> {
  return db
    .selectFrom('audit_segments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('first_seq', '>=', 1)
    .where('first_seq', '<=', seq)
    .orderBy('first_seq', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** The last sequence number before a time, given as the id of an entry of that time. A segment's id is as late as its latest entry. */
export async function seqBefore(db: Reader, tenantId: string, segmentId: string): Promise<number> {
  const row = await db
    .selectFrom('audit_segments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('first_seq', '>=', 1)
    .where('id', '>=', segmentId)
    .orderBy('first_seq')
    .limit(1)
    .executeTakeFirst();
  if (row === undefined) return Number((await findHead(db, tenantId))?.seq ?? 0);
  const first = (readEntries(row) ?? []).findIndex((entry) => entry !== null && entry.id >= segmentId);
  return Number(row.first_seq) + Math.max(first, 0) - 1;
}

/** Locks the segments that begin in the window from this sequence number on. */
export function lockWindow(tx: Tx, tenantId: string, fromSeq: number): Promise<AuditSegmentsTable[]> {
  return tx
    .selectFrom('audit_segments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('first_seq', '>=', fromSeq)
    .where('first_seq', '<', windowEnd(fromSeq))
    .orderBy('first_seq')
    .forUpdate()
    .execute();
}

export async function updateSegment(tx: Tx, { tenant_id, id, ...segment }: AuditSegmentsTable): Promise<void> {
  const change = { ...segment, schema_version: null };
  await tx.updateTable('audit_segments').set(change).where('tenant_id', '=', tenant_id).where('id', '=', id).execute();
}

export async function deleteSegments(tx: Tx, tenantId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.deleteFrom('audit_segments').where('tenant_id', '=', tenantId).where('id', 'in', ids).execute();
}

/** Tenants whose log has at least one full window that was not compacted, ordered by id for paging. */
export async function tenantsToCompact(
  db: Reader,
  after: string,
  windowEntries: number,
  limit: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom('audit_heads')
    .innerJoin('tenants', 'tenants.tenant_id', 'audit_heads.tenant_id')
    .leftJoin('audit_compaction', 'audit_compaction.tenant_id', 'audit_heads.tenant_id')
    .select('audit_heads.tenant_id')
    .where('audit_heads.tenant_id', '>', after)
    .where(sql<boolean>`audit_heads.seq >= coalesce(audit_compaction.seq, 0) + cast(${windowEntries} as bigint)`)
    .orderBy('audit_heads.tenant_id')
    .limit(limit)
    .execute();
  return rows.map((row) => row.tenant_id);
}

export async function compactedSeq(db: Reader, tenantId: string): Promise<number> {
  const row = await db
    .selectFrom('audit_compaction')
    .select('seq')
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst();
  return Number(row?.seq ?? 0);
}

export async function saveCompacted(tx: Tx, tenantId: string, seq: number): Promise<void> {
  await tx
    .insertInto('audit_compaction')
    .values({ tenant_id: tenantId, seq })
    .onConflict((c) => c.column('tenant_id').doUpdateSet({ seq }))
    .execute();
}

export function firstLinkedFrom(
  db: Reader,
  tenantId: string,
  seq: number,
): Promise<Pick<AuditSegmentsTable, 'id' | 'first_seq'> | undefined> {
  return db
    .selectFrom('audit_segments')
    .select(['id', 'first_seq'])
    .where('tenant_id', '=', tenantId)
    .where('first_seq', '>=', seq)
    .orderBy('first_seq')
    .limit(1)
    .executeTakeFirst();
}

/** The ids in a range of segments that begin outside a part of the chain, in order. */
export async function idsOutside(
  tx: Tx,
  tenantId: string,
  { ids, seqs }: { ids: { from: string; to: string }; seqs: { from: number; end: number } },
  limit: number,
): Promise<string[]> {
  const rows = await tx
    .selectFrom('audit_segments')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('id', '>', ids.from)
    .where('id', '<', ids.to)
    .where((eb) =>
      eb.or([eb('first_seq', 'is', null), eb('first_seq', '<', seqs.from), eb('first_seq', '>=', seqs.end)]),
    )
    // A tombstone has no entries, so its place does not matter.
    .where((eb) => eb.or([eb('first_seq', 'is', null), eb('first_seq', '!=', PASSED_TOMBSTONE)]))
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** The oldest segment that is not older than this id. */
export function segmentAtOrAfter(db: Reader, tenantId: string, id: string): Promise<AuditSegmentsTable | undefined> {
  return db
    .selectFrom('audit_segments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('id', '>=', id)
    .where((eb) => eb.or([eb('first_seq', 'is', null), eb('first_seq', '>=', 1)]))
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
}

/** Counts the entries ever linked, in all logs, by their hashes: the hashes of purged entries remain, and sequence numbers may be skipped. */
export async function countLinked(db: Reader): Promise<number> {
  const bytes = sql<number>`sum(length(hashes))`;
  const row = await db.selectFrom('audit_segments').select(bytes.as('bytes')).executeTakeFirst();
  return Number(row?.bytes ?? 0) / HASH_BYTES;
}

/** Tenants that have a log and were created before a time, ordered by id for paging. */
export async function tenantsAfter(db: Reader, after: string, madeBefore: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('audit_heads')
    .innerJoin('tenants', 'tenants.tenant_id', 'audit_heads.tenant_id')
    .select('audit_heads.tenant_id')
    .where('audit_heads.tenant_id', '>', after)
    .where('tenants.created_at', '<=', madeBefore)
    .orderBy('audit_heads.tenant_id')
    .limit(limit)
    .execute();
  return rows.map((row) => row.tenant_id);
}

export async function insertCheckpoint(tx: Tx, row: CheckpointRow): Promise<void> {
  await tx.insertInto('audit_checkpoints').values(row).execute();
}

export function newestCheckpoint(db: Reader, tenantId: string): Promise<CheckpointRow | undefined> {
  return db
    .selectFrom('audit_checkpoints')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('checkpoint_no', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** The first part of the cursor distinguishes it from the cursors of other lists. */
export const CHECKPOINT_CURSOR = 'checkpoint';

/** Newest first. */
export async function checkpointsBack(
  db: Reader,
  tenantId: string,
  before: number | null,
  limit: number,
): Promise<Page<CheckpointRow>> {
  let query = db
    .selectFrom('audit_checkpoints')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('checkpoint_no', 'desc')
    .limit(limit + 1);
  if (before !== null) query = query.where('checkpoint_no', '<', before);
  return pageOf(await query.execute(), limit, (row) => [CHECKPOINT_CURSOR, String(row.checkpoint_no)]);
}

/** Those that cover a sequence number of a range, in order. */
export function checkpointsBetween(
  db: Reader,
  tenantId: string,
  { fromSeq, lastSeq }: { fromSeq: number; lastSeq: number },
  limit: number,
): Promise<Pick<CheckpointRow, 'seq'>[]> {
  return db
    .selectFrom('audit_checkpoints')
    .select('seq')
    .where('tenant_id', '=', tenantId)
    .where('seq', '>=', fromSeq)
    .where('seq', '<=', lastSeq)
    .orderBy('seq')
    .limit(limit)
    .execute();
}

export function checkpointsOnward(
  db: Reader,
  tenantId: string,
  after: number,
  limit: number,
): Promise<CheckpointRow[]> {
  return db
    .selectFrom('audit_checkpoints')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('checkpoint_no', '>', after)
    .orderBy('checkpoint_no')
    .limit(limit)
    .execute();
}
