import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import * as groups from './service.ts';
import { deleteMembershipsOf } from './store.ts';

export {
  countGroups,
  deleteGroup,
  deleteMember,
  findGroupByIdOrName,
  GROUP_MEMBERS,
  GROUPS,
  groupNames,
  groupsOfUser,
  groupsOfUsers,
  insertGroup,
  insertMember,
  insertMembers,
  joinedBy,
  lockGroup,
  memberIdsOf,
  membershipOf,
  membersOfGroups,
  shownGroup,
} from './store.ts';

export function groupsFeature(_: Kernel, wiring: Wiring): Feature {
  const ports = wiring.needs('rightsOfGroup', 'vaultsOfGroup', 'provisionerOfGroup', 'secondFactorSince');
  const removed = wiring.removal('group');
  return {
    name: 'groups',
    endpoints: bindContract(contract, {
      createGroup: (ctx, { body }) => groups.create(ctx, body),
      listGroups: (ctx, { query }) => groups.list(ctx, query),
      readGroup: (ctx, { params }) => groups.read(ctx, params.group_id),
      updateGroup: (ctx, { params, body }) => groups.update(ctx, params.group_id, body, ports),
      deleteGroup: (ctx, { params }) => groups.remove(ctx, params.group_id, ports, removed),
      addGroupMember: (ctx, { params, body }) => groups.addMember(ctx, params.group_id, body.user_id, ports),
      listGroupMembers: (ctx, { params, query }) => groups.listMembers(ctx, params.group_id, query),
      removeGroupMember: (ctx, { params }) => groups.removeMember(ctx, params.group_id, params.user_id, ports),
    }),
    removals: { user: deleteMembershipsOf },
  };
}
