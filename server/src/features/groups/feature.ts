import { feature } from '../../kernel/feature/declaration.ts';
import { userRemoved } from '../users/index.ts';
import * as contract from './contract.ts';
import { groupNeeds, groupRemoved } from './links.ts';
import * as groups from './service.ts';
import { deleteMembershipsOf, GROUP_MEMBERS, GROUPS } from './storage/group-store.ts';

export const groupsFeature = feature({
  name: 'groups',
  endpoints: contract,
  tables: { authenticated: [GROUPS, GROUP_MEMBERS] },
  ids: ['group'],
  needs: groupNeeds,
  removes: { groupRemoved },
  build: (parts) => ({
    handlers: {
      createGroup: (ctx, { body }) => groups.create(ctx, body),
      listGroups: (ctx, { query }) => groups.list(ctx, query),
      readGroup: (ctx, { params }) => groups.read(ctx, params.group_id),
      updateGroup: (ctx, { params, body }) => groups.update(ctx, params.group_id, body, parts),
      deleteGroup: (ctx, { params }) => groups.remove(ctx, params.group_id, parts),
      addGroupMember: (ctx, { params, body }) => groups.addMember(ctx, params.group_id, body.user_id, parts),
      listGroupMembers: (ctx, { params, query }) => groups.listMembers(ctx, params.group_id, query),
      removeGroupMember: (ctx, { params }) => groups.removeMember(ctx, params.group_id, params.user_id, parts),
    },
    removals: [userRemoved.by(deleteMembershipsOf)],
  }),
});
