import { countRows } from '../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';

export interface ApprovalsBreakGlassTables {
  break_glass_uses: BreakGlassUse;
}

export const BREAK_GLASS_ACTIONS = ['approve', 'cancel', 'reset_mfa', 'make_owner', 'sign_in', 'evict'] as const;
export type BreakGlassAction = (typeof BREAK_GLASS_ACTIONS)[number];

/** An operator's action that bypassed a tenant's approvals, a sign-in of a break-glass owner, or what an owner took away without approval. No decision depends on this row: it is shown to admins, beside the audit log. */
export interface BreakGlassUse {
  tenant_id: string;
  use_id: string;
  action: BreakGlassAction;
  resource: string;
  at: number;
}

export async function insertUse(tx: Tx, row: BreakGlassUse): Promise<void> {
  await tx.insertInto('break_glass_uses').values(row).execute();
}

/** Newest first. */
export function usesOf(db: Reader, tenantId: string, limit: number): Promise<BreakGlassUse[]> {
  return db
    .selectFrom('break_glass_uses')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('use_id', 'desc')
    .limit(limit)
    .execute();
}

export function countUses(db: Reader): Promise<number> {
  return countRows(db.selectFrom('break_glass_uses'));
}
