import { AuthenticatedTable, type RowFilter } from '../../kernel/integrity/authenticated-table.ts';
import { countRows } from '../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

export interface SharesTables {
  shares: Authenticated<ShareRow>;
}

export interface ShareRow {
  tenant_id: string;
  /** Its random part makes the link unguessable, and the key that opens the envelope is not here at all. */
  share_id: string;
  created_by: string;
  /** Sealed by the client; null once it was opened as often as allowed, or revoked. */
  envelope: string | null;
  views: number;
  views_left: number;
  created_at: number;
  expires_at: number;
  opened_at: number | null;
  revoked_at: number | null;
}

export const SHARES = new AuthenticatedTable<'shares', ShareRow>('shares', {
  key: ['share_id'],
  covered: ['created_by', 'envelope', 'views', 'views_left', 'created_at', 'expires_at', 'opened_at', 'revoked_at'],
});

export async function insertShare(tx: Tx, row: ShareRow): Promise<void> {
  await SHARES.insert(tx, row);
}

/** The tenant of a share, for somebody who has only the link. */
export async function tenantOfShare(db: Reader, shareId: string): Promise<string | undefined> {
  const query = db.selectFrom('shares').select('tenant_id').where('share_id', '=', shareId);
  return (await query.executeTakeFirst())?.tenant_id;
}

export async function lockShare(tx: Tx, tenantId: string, shareId: string): Promise<ShareRow | undefined> {
  const [row] = await SHARES.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, share_id: shareId }));
  return row;
}

export async function updateShare(
  tx: Tx,
  row: ShareRow,
  change: Partial<Pick<ShareRow, 'envelope' | 'views_left' | 'opened_at' | 'revoked_at'>>,
): Promise<ShareRow> {
  return SHARES.update(tx, row, change);
}

export function countOpenShares(tx: Tx, tenantId: string, userId: string, now: number): Promise<number> {
  return countRows(
    tx
      .selectFrom('shares')
      .where('tenant_id', '=', tenantId)
      .where('created_by', '=', userId)
      .where('envelope', 'is not', null)
      .where('expires_at', '>', now),
  );
}

/** Newest first, without what was shared. */
export function sharesBack(
  db: Reader,
  tenantId: string,
  { before, limit }: { before: string | null; limit: number },
): Promise<Omit<ShareRow, 'envelope'>[]> {
  let query = db
    .selectFrom('shares')
    .select([
      'tenant_id',
      'share_id',
      'created_by',
      'views',
      'views_left',
      'created_at',
      'expires_at',
      'opened_at',
      'revoked_at',
    ])
    .where('tenant_id', '=', tenantId);
  if (before !== null) query = query.where('share_id', '<', before);
  return query.orderBy('share_id', 'desc').limit(limit).execute();
}

/** Shares whose time is over. */
export function expiredShares(time: Cutoff): RowFilter<'shares'> {
  return (eb) => eb('expires_at', '<=', time);
}

export async function deleteSharesOf(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await SHARES.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, created_by: userId }));
}
