import { AuthenticatedTable } from '../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { type Authenticated, SYSTEM_TENANT } from '../../kernel/storage/tables.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import { expiryOfCell } from './crdt/merge.ts';
import { type CellKind, isSaidByEach, type Operation } from './crdt/operation.ts';

export interface RegionsDirectoryTables {
  region_cells: Authenticated<CellRow, 'expires_at'>;
  region_promotions: Authenticated<PromotionRow>;
}

/** The last write of each cell of the directory. */
export interface CellRow {
  tenant_id: string;
  kind: CellKind;
  cell_key: string;
  /** The tag of an element of a set, or the region of a cell that each region has. Cells of earlier releases do not name it. */
  tag: string;
  origin: string;
  seq: number;
  ms: number;
  counter: number;
  is_removed: number;
  value: string;
  signature: string;
  /** A copy of the expiry in the value, to find what can be deleted. */
  expires_at: number | null;
}

/** A tenant that this region was made the primary region of, until and after it serves it. */
export interface PromotionRow {
  tenant_id: string;
  promoted_id: string;
  epoch: number;
  previous: string | null;
  reason: string;
  /** JSON: how far the data here was behind when the promotion began; null for a tenant that had no other region. */
  replica: string | null;
  begun_at: number;
  /** JSON: the regions that have noted the epoch, with their leases in milliseconds. */
  noted_by: string;
  /** When enough regions had noted it. Nothing is measured from it: see `Promotions`. */
  noted_at: number | null;
  active_at: number | null;
}

export const REGION_CELLS = new AuthenticatedTable<'region_cells', CellRow>('region_cells', {
  key: ['kind', 'cell_key', 'tag'],
  covered: ['origin', 'seq', 'ms', 'counter', 'is_removed', 'value', 'signature'],
  uncovered: { expires_at: 'a copy of what the value says, to find it by' },
  isListedAtUpgrade: false,
});

export const REGION_PROMOTIONS = new AuthenticatedTable<'region_promotions', PromotionRow>('region_promotions', {
  key: ['promoted_id'],
  covered: ['epoch', 'previous', 'reason', 'replica', 'begun_at', 'noted_by', 'noted_at', 'active_at'],
  isListedAtUpgrade: false,
});

export function operationOf(row: CellRow): Operation {
  const { origin, seq, ms, counter, kind, cell_key, is_removed, value, signature } = row;
  const tag = isSaidByEach(kind) ? '' : row.tag;
  return { origin, seq, ms, counter, kind, key: cell_key, tag, isRemoved: is_removed === 1, value, signature };
}

function rowOf(operation: Operation): CellRow {
  const { key, isRemoved, ...same } = operation;
  return {
    ...same,
    tenant_id: SYSTEM_TENANT,
    cell_key: key,
    tag: isSaidByEach(operation.kind) ? operation.origin : operation.tag,
    is_removed: isRemoved ? 1 : 0,
    expires_at: expiryOfCell(operation),
  };
}

/** Replaces a cell. A row that was forged counts as missing, and what the regions signed takes its place. */
export async function putCell(tx: Tx, operation: Operation, before: CellRow | undefined): Promise<void> {
  const row = rowOf(operation);
  if (before !== undefined && before.tag !== row.tag) await deleteCell(tx, before);
  else if (before !== undefined) {
    await REGION_CELLS.update(tx, before, row);
    return;
  }
  await deleteCell(tx, row);
  await REGION_CELLS.insert(tx, row);
}

export async function deleteCell(tx: Tx, { kind, cell_key, tag }: CellRow): Promise<void> {
  await REGION_CELLS.deleteWhere(tx, (eb) => eb.and({ tenant_id: SYSTEM_TENANT, kind, cell_key, tag }));
}

/** The authentic cells among those with these keys. */
export async function findCells(db: Reader, kind: CellKind, keys: readonly string[]): Promise<CellRow[]> {
  if (keys.length === 0) return [];
  const rows = await db
    .selectFrom('region_cells')
    .selectAll()
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('kind', '=', kind)
    .where('cell_key', 'in', [...keys])
    .execute();
  return REGION_CELLS.authenticOf(db, rows);
}

/** The elements of a set that a region added and has not removed. */
export async function elementsOf(db: Reader, kind: CellKind, origin: string): Promise<CellRow[]> {
  const rows = await db
    .selectFrom('region_cells')
    .selectAll()
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('kind', '=', kind)
    .where('origin', '=', origin)
    .where('is_removed', '=', 0)
    .execute();
  return REGION_CELLS.authenticOf(db, rows);
}

/** The register of a tenant's primary region. A forged row throws: taken for missing, it would let every region change the tenant. */
export async function findPrimary(db: Reader, tenantId: string): Promise<CellRow | undefined> {
  const query = db
    .selectFrom('region_cells')
    .selectAll()
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('kind', '=', 'primary')
    .where('cell_key', '=', tenantId);
  return REGION_CELLS.checked(db, await query.executeTakeFirst());
}

export async function listCells(db: Reader, kind: CellKind, after: string, limit: number): Promise<CellRow[]> {
  const rows = await db
    .selectFrom('region_cells')
    .selectAll()
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('kind', '=', kind)
    .where('cell_key', '>', after)
    .orderBy('cell_key')
    .orderBy('tag')
    .limit(limit)
    .execute();
  return REGION_CELLS.authenticOf(db, rows);
}

function ofOrigin(db: Reader, origin: string, after: number, limit: number) {
  return db
    .selectFrom('region_cells')
    .selectAll()
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('origin', '=', origin)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit);
}

/** The cells that an origin wrote last, after a number, in their order. They are not verified: anyone who gets them checks the signatures. */
export function cellsOfOrigin(db: Reader, origin: string, after: number, limit: number): Promise<CellRow[]> {
  return ofOrigin(db, origin, after, limit).execute();
}

/**
 * The primary regions that an origin took after this number. Another region pushed them ahead of earlier operations of that origin, which are still
 * to be pulled.
 */
export function primariesAfter(db: Reader, origin: string, after: number, limit: number): Promise<CellRow[]> {
  return ofOrigin(db, origin, after, limit).where('kind', '=', 'primary').execute();
}

export async function deleteExpiredCells(tx: Tx, cutoff: Cutoff, limit: number): Promise<number> {
  const which = (eb: Parameters<Parameters<typeof REGION_CELLS.deleteWhere>[1]>[0]) =>
    eb.and([eb('tenant_id', '=', SYSTEM_TENANT), eb('expires_at', '<', cutoff)]);
  return (await REGION_CELLS.deleteWhere(tx, which, limit)).length;
}

export async function findPromotion(db: Reader, tenantId: string): Promise<PromotionRow | undefined> {
  const query = db
    .selectFrom('region_promotions')
    .selectAll()
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('promoted_id', '=', tenantId);
  return REGION_PROMOTIONS.checked(db, await query.executeTakeFirst());
}

export async function pendingPromotions(db: Reader, limit: number): Promise<PromotionRow[]> {
  const rows = await db
    .selectFrom('region_promotions')
    .selectAll()
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('active_at', 'is', null)
    .limit(limit)
    .execute();
  return REGION_PROMOTIONS.authenticOf(db, rows);
}

/** Those of the tenants that this region serves. */
export async function activePromotions(db: Reader, tenantIds: readonly string[]): Promise<string[]> {
  if (tenantIds.length === 0) return [];
  const rows = await db
    .selectFrom('region_promotions')
    .select('promoted_id')
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('promoted_id', 'in', [...tenantIds])
    .where('active_at', 'is not', null)
    .execute();
  return rows.map(({ promoted_id }) => promoted_id);
}

export async function deletePendingPromotion(
  tx: Tx,
  { promoted_id, epoch }: Pick<PromotionRow, 'promoted_id' | 'epoch'>,
): Promise<void> {
  await REGION_PROMOTIONS.deleteWhere(tx, (eb) =>
    eb.and([eb.and({ tenant_id: SYSTEM_TENANT, promoted_id, epoch }), eb('active_at', 'is', null)]),
  );
}

export async function putPromotion(tx: Tx, row: Omit<PromotionRow, 'tenant_id'>): Promise<void> {
  const { promoted_id } = row;
  await REGION_PROMOTIONS.deleteWhere(tx, (eb) => eb.and({ tenant_id: SYSTEM_TENANT, promoted_id }));
  await REGION_PROMOTIONS.insert(tx, { tenant_id: SYSTEM_TENANT, ...row });
}
