import type { ApprovalHooks, ApprovalKind } from '../../kernel/endpoint/approval.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { ReadyEndpoint } from '../../kernel/request/ready-endpoint.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { fortressVaults } from '../secrets/storage/index.ts';
import { managedBy, managersOf } from '../vaults/index.ts';
import type { ApprovalParts } from './links.ts';

/** What approvals need from other features. */
export interface ApprovalPorts extends Pick<ApprovalParts, 'usersWithSignOn'> {
  /** Tells which resources this person manages and already managed at that time. */
  managedBy(db: Reader, tenantId: string, userId: string): Promise<(resource: string, at: number) => boolean>;
  /** For each of these resources, everyone who manages it and already managed it at that time. */
  managersOf(db: Reader, tenantId: string, requests: readonly { resource: string; at: number }[]): Promise<string[][]>;
  /** Names of the vaults of a tenant that hold a fortress secret, deleted ones too. */
  fortressVaults(tenantId: string): Promise<readonly string[]>;
  hooks: Partial<Record<ApprovalKind, ApprovalHooks>>;
  /** The endpoint of this name, to execute a stored request. */
  endpoint(name: string): ReadyEndpoint | undefined;
}

export function approvalPorts({
  database,
  usersWithSignOn,
  endpoints,
}: ApprovalParts & Pick<Kernel, 'database'>): ApprovalPorts {
  return {
    usersWithSignOn,
    managedBy,
    managersOf,
    fortressVaults: (tenantId) => fortressVaults(database.read, tenantId),
    get hooks() {
      return endpoints.approvalHooks;
    },
    endpoint: (name) => endpoints.endpoint(name),
  };
}
