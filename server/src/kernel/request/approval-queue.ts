import type { PendingApproval, Proposal } from '../endpoint/approval.ts';
import type { Tx } from '../storage/database.ts';
import type { Context } from './context.ts';

export type ReportBreakGlass = (tx: Tx) => Promise<void>;
export type StoreApproval = (tx: Tx) => Promise<PendingApproval>;

/** Stores requests until somebody else approves them. A feature implements it; the kernel knows only this interface. */
export interface ApprovalQueue {
  /** Whether the caller is the only person in the tenant who could approve this. */
  isOnlyApprover(ctx: Context, proposal: Proposal): Promise<boolean>;
  /**
   * For an owner who may act without waiting: resolves to what reports that, in the transaction of the change. Null if the request must wait. It may
   * have to create keys, so it runs outside any transaction.
   */
  breakGlass(ctx: Context, proposal: Proposal): Promise<ReportBreakGlass | null>;
  /** Seals the request. It may have to create keys, so it runs outside any transaction. */
  prepare(ctx: Context, proposal: Proposal): Promise<StoreApproval>;
  /** Names of the vaults that hold a fortress secret, including deleted vaults. */
  fortressVaults(tenantId: string): Promise<readonly string[]>;
}
