import type { Tx } from '../storage/database.ts';
import type { PendingApproval, Proposal } from './approval.ts';
import type { Context } from './context.ts';

export type StoreApproval = (tx: Tx) => Promise<PendingApproval>;

/** Stores requests until somebody else approves them. A feature implements it; the kernel knows only this interface. */
export interface ApprovalQueue {
  /** Whether the caller is the only person in the tenant who could approve this. */
  isOnlyApprover(ctx: Context, proposal: Proposal): Promise<boolean>;
  /** Seals the request. It may have to create keys, so it runs outside any transaction. */
  prepare(ctx: Context, proposal: Proposal): Promise<StoreApproval>;
  /** Names of the vaults that hold a fortress secret, including deleted vaults. */
  fortressVaults(tenantId: string): Promise<readonly string[]>;
}
