import type { Reader } from '../../kernel/storage/database.ts';
import type { AuditSegmentsTable, Tables } from '../../kernel/storage/tables.ts';

/** Newest first, from the segment with this id on (which is shown in part, perhaps). */
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
    .orderBy('id', 'desc')
    .limit(limit);
  if (from !== null) query = query.where('id', '<=', from);
  return query.execute();
}

/** The chain in its order. */
export function segmentsOnward(
  db: Reader,
  tenantId: string,
  fromSeq: number,
  limit: number,
): Promise<AuditSegmentsTable[]> {
  return db
    .selectFrom('audit_segments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('first_seq', '>=', fromSeq)
    .orderBy('first_seq')
    .limit(limit)
    .execute();
}

export function findHead(db: Reader, tenantId: string): Promise<Tables['audit_heads'] | undefined> {
  return db.selectFrom('audit_heads').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst();
}
