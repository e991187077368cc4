import type { ApprovalKind } from '../../kernel/approval.ts';
import type { ReadyEndpoint } from '../../kernel/pipeline.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { ApprovalFacts } from './store.ts';

/** What happens to the resource while it waits. Each runs in the transaction of the approval itself. */
export interface ApprovalHooks {
  /** The request is stored: the resource can be marked as waiting, for the approval with this id. */
  requested?(tx: Tx, tenantId: string, approval: ApprovalFacts): Promise<void>;
  /** It was rejected, expired or could not be carried out: a mark for this id, and only for it, is to be undone. */
  released?(tx: Tx, tenantId: string, approval: ApprovalFacts): Promise<void>;
}

/** What approvals need of the other features; app.ts connects them. */
export interface ApprovalPorts {
  /** Which resources this person manages, and managed at that time already. */
  managedBy(db: Reader, tenantId: string, userId: string): Promise<(resource: string, at: number) => boolean>;
  /** Everybody who manages this resource, and managed it at that time already. */
  managersOf(db: Reader, tenantId: string, resource: string, at: number): Promise<string[]>;
  /** Names of the vaults of a tenant that hold a fortress secret, deleted ones too. */
  fortressVaults(tenantId: string): Promise<readonly string[]>;
  hooks: Partial<Record<ApprovalKind, ApprovalHooks>>;
  /** The endpoint of this name, to carry out what was asked of it. */
  endpoint(name: string): ReadyEndpoint | undefined;
}
