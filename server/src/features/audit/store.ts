import { sql } from 'kysely';
import { HASH_BYTES } from '../../kernel/audit/chain.ts';
import { windowEnd } from '../../kernel/audit/chain-walk.ts';
import { type Page, pageOf } from '../../kernel/storage/cursor.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { AuditSegmentsTable, Tables } from '../../kernel/storage/tables.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    audit_checkpoints: CheckpointRow;
  }
}

/** Where a tenant's chain had come to, signed. It never changes. */
export interface CheckpointRow {
  tenant_id: string;
  /** Counted up from 1, so that one that was removed is missed. */
  checkpoint_no: number;
  /** Of the entry that was the last one then. */
  seq: number;
  hash: Uint8Array;
  signed_at: number;
  /** Of the installation's keys. */
  key_id: string;
  signature: Uint8Array;
}

/** Newest first, from the segment with this id on (which is shown in part, perhaps). What stands outside the chain is left out; what waits for its place is not. */
export async function segmentsBack(
  db: Reader,
  tenantId: string,
  from: string | null,
  limit: number,
): Promise<AuditSegmentsTable[]> {
  let query = db
    .selectFrom('audit_segments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where((eb) =>
      eb.or([
        eb.and([eb('first_seq', 'is', null), eb('node_no', 'is not', null)]),
        eb.and([eb('first_seq', '>=', 1), eb('first_seq', '<=', headSeq(tenantId))]),
      ]),
    )
    .orderBy('id', 'desc')
    .limit(limit);
  if (from !== null) query = query.where('id', '<=', from);
  return query.execute();
}

/** Segments that are not in the chain: refused, written by somebody else, or waiting for their place. The head may move on meanwhile, so it is read with them. */
export async function segmentsWithoutPlace(
  db: Reader,
  tenantId: string,
  limit: number,
): Promise<Pick<AuditSegmentsTable, 'id' | 'first_seq' | 'node_no'>[]> {
  return db
    .selectFrom('audit_segments')
    .select(['id', 'first_seq', 'node_no'])
    .where('tenant_id', '=', tenantId)
    .where((eb) =>
      eb.or([eb('first_seq', 'is', null), eb('first_seq', '<', 1), eb('first_seq', '>', headSeq(tenantId))]),
    )
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Whether a node wrote something that has no place in the chain yet. */
export async function isAnythingUnlinked(db: Reader, tenantId: string): Promise<boolean> {
  const found = await db
    .selectFrom('audit_segments')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('first_seq', 'is', null)
    .where('node_no', 'is not', null)
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

function headSeq(tenantId: string) {
  return sql<number>`coalesce((select seq from audit_heads where tenant_id = ${tenantId}), 0)`;
}

export function findHead(db: Reader, tenantId: string): Promise<Tables['audit_heads'] | undefined> {
  return db.selectFrom('audit_heads').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst();
}

/** The segment that has the entry at this place, if the chain is whole. */
export function segmentHolding(db: Reader, tenantId: string, seq: number): Promise<AuditSegmentsTable | undefined> {
  return db
    .selectFrom('audit_segments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('first_seq', '<=', seq)
    .orderBy('first_seq', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** The segments that begin in a window of the chain, from a place on, for whoever changes them. */
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

export async function updateSegment(tx: Tx, { tenant_id, id, ...change }: AuditSegmentsTable): Promise<void> {
  await tx.updateTable('audit_segments').set(change).where('tenant_id', '=', tenant_id).where('id', '=', id).execute();
}

export async function deleteSegments(tx: Tx, tenantId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.deleteFrom('audit_segments').where('tenant_id', '=', tenantId).where('id', 'in', ids).execute();
}

/** Entries that were ever linked, in all logs, by their hashes: those of purged ones are still there, and numbers may be left out. */
export async function countLinked(db: Reader): Promise<number> {
  const bytes = sql<number>`sum(length(hashes))`;
  const row = await db.selectFrom('audit_segments').select(bytes.as('bytes')).executeTakeFirst();
  return Number(row?.bytes ?? 0) / HASH_BYTES;
}

/** Tenants with a log that were there before a time, in an order in which to go on. */
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

/** Told from the cursors of other lists by its first part. */
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
