import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import * as contract from './contract.ts';
import * as groups from './service.ts';

export {
  findGroupByIdOrName,
  forgetUser as forgetGroupMember,
  GROUP_MEMBERS,
  GROUPS,
  groupsOfUser,
  joinedBy,
  lockGroup,
  membersOfGroups,
  shownGroup,
} from './store.ts';

export function groupsFeature(others: groups.GroupNeighbours): Feature {
  return {
    name: 'groups',
    endpoints: [
      bind(contract.createGroup, (ctx, { body }) => groups.create(ctx, body)),
      bind(contract.listGroups, (ctx, { query }) => groups.list(ctx, query)),
      bind(contract.readGroup, (ctx, { params }) => groups.read(ctx, params.group_id)),
      bind(contract.updateGroup, (ctx, { params, body }) => groups.update(ctx, params.group_id, body)),
      bind(contract.deleteGroup, (ctx, { params }) => groups.remove(ctx, params.group_id, others)),
      bind(contract.addGroupMember, (ctx, { params, body }) =>
        groups.addMember(ctx, params.group_id, body.user_id, others),
      ),
      bind(contract.listGroupMembers, (ctx, { params, query }) => groups.listMembers(ctx, params.group_id, query)),
      bind(contract.removeGroupMember, (ctx, { params }) =>
        groups.removeMember(ctx, params.group_id, params.user_id, others),
      ),
    ],
  };
}
