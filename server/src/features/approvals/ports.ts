import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Ports, Wiring } from '../../kernel/platform/wiring.ts';
import type { ApprovalHooks, ApprovalKind } from '../../kernel/request/approval.ts';
import type { ReadyEndpoint } from '../../kernel/request/pipeline.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { fortressVaults } from '../secrets/index.ts';
import { managedBy, managersOf } from '../vaults/index.ts';

declare module '../../kernel/platform/wiring.ts' {
  interface Ports {
    /** Those of some users whom an enabled identity provider signs in. */
    usersWithSignOn(db: Reader, tenantId: string, userIds: readonly string[]): Promise<string[]>;
  }
}

/** What approvals need from other features. */
export interface ApprovalPorts extends Pick<Ports, 'usersWithSignOn'> {
  /** Tells which resources this person manages and already managed at that time. */
  managedBy(db: Reader, tenantId: string, userId: string): Promise<(resource: string, at: number) => boolean>;
  /** For each of these resources, everyone who manages it and already managed it at that time. */
  managersOf(db: Reader, tenantId: string, asked: readonly { resource: string; at: number }[]): Promise<string[][]>;
  /** Names of the vaults of a tenant that hold a fortress secret, deleted ones too. */
  fortressVaults(tenantId: string): Promise<readonly string[]>;
  hooks: Partial<Record<ApprovalKind, ApprovalHooks>>;
  /** The endpoint of this name, to execute a stored request. */
  endpoint(name: string): ReadyEndpoint | undefined;
}

export function approvalPorts({ database }: Kernel, wiring: Wiring): ApprovalPorts {
  return {
    ...wiring.needs('usersWithSignOn'),
    managedBy,
    managersOf,
    fortressVaults: (tenantId) => fortressVaults(database.read, tenantId),
    get hooks() {
      return wiring.approvalHooks;
    },
    endpoint: (name) => wiring.endpoint(name),
  };
}
