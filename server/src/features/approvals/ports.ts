import type { ApprovalKind } from '../../kernel/approval.ts';
import type { ReadyEndpoint } from '../../kernel/pipeline.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { ApprovalFacts } from './store.ts';

/** Updates the resource while its approval is pending. Each hook runs in the transaction of the approval itself. */
export interface ApprovalHooks {
  /** The request was stored: the resource can be marked as pending, with the id of this approval. */
  requested?(tx: Tx, tenantId: string, approval: ApprovalFacts): Promise<void>;
  /** The request was rejected, cancelled, expired or could not be executed: undo the mark with this approval's id, and only that one. */
  released?(tx: Tx, tenantId: string, approval: ApprovalFacts): Promise<void>;
}

/** What approvals need from other features; app.ts connects them. */
export interface ApprovalPorts {
  /** Tells which resources this person manages and already managed at that time. */
  managedBy(db: Reader, tenantId: string, userId: string): Promise<(resource: string, at: number) => boolean>;
  /** Everyone who manages this resource and already managed it at that time. */
  managersOf(db: Reader, tenantId: string, resource: string, at: number): Promise<string[]>;
  /** Names of the vaults of a tenant that hold a fortress secret, deleted ones too. */
  fortressVaults(tenantId: string): Promise<readonly string[]>;
  hooks: Partial<Record<ApprovalKind, ApprovalHooks>>;
  /** The endpoint of this name, to execute a stored request. */
  endpoint(name: string): ReadyEndpoint | undefined;
}
