import { sql } from 'kysely';
import type { Reader } from '../../kernel/storage/database.ts';
import type { Tables } from '../../kernel/storage/tables.ts';

export type AuditRow = Tables['audit_entries'];

export interface AuditFilter {
  vault?: string | undefined;
  actor?: string | undefined;
  action?: string | undefined;
  resource?: string | undefined;
  decision?: AuditRow['decision'] | undefined;
  /** Ids from this one on. */
  fromId: string | null;
  /** Ids before this one. */
  beforeId: string | null;
}

export interface Scan {
  rows: AuditRow[];
  /** The last id looked at, if there may be more behind it. */
  lastId: string | null;
}

/**
 * The newest entries that pass the filter, looking at no more than `scanMax` of them. The log has no index for each filter: every one
 * would be paid for by every request, for ever, while a search is rare and can go on with the next page.
 */
export async function scan(
  db: Reader,
  tenantId: string,
  filter: AuditFilter,
  limit: number,
  scanMax: number,
): Promise<Scan> {
  let inner = db
    .selectFrom('audit_entries')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('id', 'desc')
    .limit(scanMax);
  if (filter.beforeId !== null) inner = inner.where('id', '<', filter.beforeId);
  if (filter.fromId !== null) inner = inner.where('id', '>=', filter.fromId);
  let outer = db.selectFrom(inner.as('e')).selectAll('e');
  const { vault, actor, action, resource, decision } = filter;
  if (vault !== undefined) outer = outer.where('vault', '=', vault);
  if (action !== undefined) outer = outer.where('action', '=', action);
  if (decision !== undefined) outer = outer.where('decision', '=', decision);
  if (actor !== undefined) {
    outer = outer.where((eb) =>
      eb.or([eb('actor_id', '=', actor), eb('actor_name', '=', actor), eb('actor_key', '=', actor)]),
    );
  }
  if (resource?.endsWith('*')) {
    const prefix = resource.slice(0, -1);
    outer = outer.where(sql`substr(resource, 1, ${sql.lit(prefix.length)})`, '=', prefix);
  } else if (resource !== undefined) outer = outer.where('resource', '=', resource);
  const rows = await outer
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
  if (rows.length > limit) return { rows: rows.slice(0, limit), lastId: rows[limit - 1]?.id ?? null };

  const last = await db
    .selectFrom(inner.as('e'))
    .select((eb) => [eb.fn.min<string>('id').as('id'), eb.fn.countAll<number>().as('n')])
    .executeTakeFirstOrThrow();
  return { rows, lastId: Number(last.n) === scanMax ? last.id : null };
}

/** The chain in its order. */
export function chainPage(db: Reader, tenantId: string, afterSeq: number, limit: number): Promise<AuditRow[]> {
  return db
    .selectFrom('audit_entries')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('seq', '>', afterSeq)
    .orderBy('seq')
    .limit(limit)
    .execute();
}

export function findHead(db: Reader, tenantId: string): Promise<Tables['audit_heads'] | undefined> {
  return db.selectFrom('audit_heads').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst();
}
