import Type, { type Static } from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { named } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  freeText,
  id,
  idOrName,
  nextCursor,
  object,
  pageQuery,
  resourceName,
  timestampText,
  userIdOrEmail,
} from '../../kernel/wire/wire.ts';

export const Group = named(
  'Group',
  'Users who share the same permissions.',
  object({
    id: id('group'),
    name: Type.String({ description: 'The name, which never changes.' }),
    description: Type.String({ description: 'The purpose of the group.' }),
    members_count: Type.Integer({ description: 'The number of members.' }),
    created_at: timestampText,
  }),
);
export type Group = Static<typeof Group>;

export const GroupMember = named(
  'GroupMember',
  'A member of a group.',
  object({ group_id: id('group'), user_id: id('user'), added_at: timestampText }),
);
export type GroupMember = Static<typeof GroupMember>;

/** `freeText` refuses NUL, which PostgreSQL cannot store. */
const description = freeText(512, 'The purpose of the group.');

const common = {
  ...ORDINARY,
  noun: 'groups',
  aboutNoun: {
    title: 'Groups',
    group: 'People',
    guide: ['people'],
    description: 'Groups of users who share permissions.',
  },
  credentials: ANY_TOKEN,
} as const;

export const createGroup = endpoint({
  ...common,
  name: 'createGroup',
  method: 'POST',
  path: '/v1/groups',
  summary: 'Create a group of users',
  description: 'It grants no permissions until a policy is attached to it or it becomes a member of a vault.',
  permission: 'groups:create',
  resource: 'group',
  rate: 'write',
  audit: 'groups:create',
  effect: 'change',
  params: NONE,
  query: NONE,
  body: object({ name: resourceName, description: Type.Optional(description) }),
  status: 201,
  output: Group,
  errors: ['QUOTA_EXCEEDED', 'ALREADY_EXISTS'],
});

export const listGroups = endpoint({
  ...common,
  name: 'listGroups',
  method: 'GET',
  path: '/v1/groups',
  summary: 'List the groups of the tenant',
  description: 'Includes the number of members of each.',
  permission: 'groups:list',
  resource: 'group',
  rate: 'read',
  audit: 'groups:list',
  effect: 'read',
  params: NONE,
  query: object(pageQuery),
  body: NONE,
  status: 200,
  output: object({ groups: Type.Array(Group), next_cursor: nextCursor }),
  errors: [],
});

export const readGroup = endpoint({
  ...common,
  name: 'readGroup',
  method: 'GET',
  path: '/v1/groups/{group_id}',
  summary: 'Read one group',
  description: 'By id or by name.',
  permission: 'groups:read',
  resource: 'group/{group_id}',
  rate: 'read',
  audit: 'groups:read',
  effect: 'read',
  params: object({ group_id: idOrName }),
  query: NONE,
  body: NONE,
  status: 200,
  output: Group,
  errors: ['NOT_FOUND'],
});

export const updateGroup = endpoint({
  ...common,
  name: 'updateGroup',
  method: 'PATCH',
  path: '/v1/groups/{group_id}',
  summary: 'Change a group’s description',
  description:
    'The name cannot be changed, because policies grant permissions by it. A group of SCIM is changed at its provider.',
  permission: 'groups:update',
  resource: 'group/{group_id}',
  rate: 'write',
  audit: 'groups:update',
  effect: 'change',
  params: object({ group_id: idOrName }),
  query: NONE,
  body: object({ description }),
  status: 200,
  output: Group,
  errors: ['NOT_FOUND', 'IN_USE'],
});

export const deleteGroup = endpoint({
  ...common,
  name: 'deleteGroup',
  method: 'DELETE',
  path: '/v1/groups/{group_id}',
  summary: 'Delete a group; its members are not deleted',
  description:
    'Requires approval if a policy is attached to the group or it is a member of a vault, as does every change of its members. A group of SCIM is deleted at its provider.',
  permission: 'groups:delete',
  resource: 'group/{group_id}',
  rate: 'write',
  audit: 'groups:delete',
  effect: 'change',
  approval: 'rbac_change',
  params: object({ group_id: idOrName }),
  query: NONE,
  body: NONE,
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND', 'IN_USE'],
});

export const addGroupMember = endpoint({
  ...common,
  name: 'addGroupMember',
  method: 'POST',
  path: '/v1/groups/{group_id}/members',
  summary: 'Add a user to a group',
  description:
    'Requires approval if the group has permissions: the user has them from the next request on, on every node. People join a group of SCIM at its provider only.',
  permission: 'groups:update',
  resource: 'group/{group_id}',
  rate: 'write',
  audit: 'groups:add_member',
  effect: 'change',
  approval: 'rbac_change',
  params: object({ group_id: idOrName }),
  query: NONE,
  body: object({ user_id: userIdOrEmail }),
  status: 201,
  output: GroupMember,
  errors: ['QUOTA_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS', 'IN_USE'],
});

export const listGroupMembers = endpoint({
  ...common,
  name: 'listGroupMembers',
  method: 'GET',
  path: '/v1/groups/{group_id}/members',
  summary: 'List the members of a group',
  description: 'By id; `GET /v1/users/{user_id}` returns each user.',
  permission: 'groups:read',
  resource: 'group/{group_id}',
  rate: 'read',
  audit: 'groups:list_members',
  effect: 'read',
  params: object({ group_id: idOrName }),
  query: object(pageQuery),
  body: NONE,
  status: 200,
  output: object({ members: Type.Array(GroupMember), next_cursor: nextCursor }),
  errors: ['NOT_FOUND'],
});

export const removeGroupMember = endpoint({
  ...common,
  name: 'removeGroupMember',
  method: 'DELETE',
  path: '/v1/groups/{group_id}/members/{user_id}',
  summary: 'Remove a user from a group',
  description:
    'The user loses the permissions of the group from the next request on, on every node. Requires approval if the group has permissions. People leave a group of SCIM at its provider.',
  permission: 'groups:update',
  resource: 'group/{group_id}',
  rate: 'write',
  audit: 'groups:remove_member',
  effect: 'change',
  approval: 'rbac_change',
  params: object({ group_id: idOrName, user_id: userIdOrEmail }),
  query: NONE,
  body: NONE,
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND', 'IN_USE'],
});
