import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import * as contract from './contract.ts';
import * as groups from './service.ts';

export { GROUP_ENDPOINTS } from './contract.ts';
export { findGroupByIdOrName, forgetUser as forgetGroupMember, groupsOfUser } from './store.ts';

/** What other features do when a group is removed, in the same transaction. */
export interface GroupObservers {
  forget(tx: Tx, tenantId: string, groupId: string): Promise<void>;
}

export function groupsFeature(observers: GroupObservers): Feature {
  return {
    name: 'groups',
    endpoints: [
      bind(contract.createGroup, (ctx, { body }) => groups.create(ctx, body)),
      bind(contract.listGroups, (ctx, { query }) => groups.list(ctx, query)),
      bind(contract.readGroup, (ctx, { params }) => groups.read(ctx, params.group_id)),
      bind(contract.updateGroup, (ctx, { params, body }) => groups.update(ctx, params.group_id, body)),
      bind(contract.deleteGroup, (ctx, { params }) => groups.remove(ctx, params.group_id, observers)),
      bind(contract.addGroupMember, (ctx, { params, body }) => groups.addMember(ctx, params.group_id, body.user_id)),
      bind(contract.listGroupMembers, (ctx, { params, query }) => groups.listMembers(ctx, params.group_id, query)),
      bind(contract.removeGroupMember, (ctx, { params }) => groups.removeMember(ctx, params.group_id, params.user_id)),
    ],
  };
}
