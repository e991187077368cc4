import { type Linked, port, removalOf } from '../../kernel/feature/links.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { secondFactorSince } from '../users/index.ts';

/** Describes, for approvers, what membership in this group grants or takes away; empty if nothing. */
export const rightsOfGroup = port<(tx: Tx, tenantId: string, groupId: string) => Promise<string[]>>('rightsOfGroup');

/** Returns a test for the vaults that members of the group have access to, or to anything in them. */
export const vaultsOfGroup =
  port<(tx: Tx, tenantId: string, groupId: string) => Promise<(vault: string) => boolean>>('vaultsOfGroup');

/** Refuses a membership by which the policies of the user would cost more than a principal's may. */
export const refuseCostlyPolicies =
  port<(tx: Tx, tenantId: string, userId: string) => Promise<void>>('refuseCostlyPolicies');

/** The identity provider that made the group, with a null name if it was deleted; undefined for a group that people made. */
export const provisionerOfGroup =
  port<(tx: Tx, tenantId: string, groupId: string) => Promise<{ name: string | null } | undefined>>(
    'provisionerOfGroup',
  );

export const groupRemoved = removalOf<[tx: Tx, tenantId: string, groupId: string]>('group');

export const groupNeeds = {
  rightsOfGroup,
  vaultsOfGroup,
  refuseCostlyPolicies,
  provisionerOfGroup,
  secondFactorSince,
};
export type GroupParts = Linked<typeof groupNeeds>;
