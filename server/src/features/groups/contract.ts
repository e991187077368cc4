import Type, { type Static } from 'typebox';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { named } from '../../kernel/named-schemas.ts';
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
} from '../../kernel/wire.ts';

export const Group = named(
  'Group',
  'People who get the same rights together.',
  object({
    id: id('group'),
    name: Type.String({ description: 'Its name, which never changes.' }),
    description: Type.String({ description: 'What it is for.' }),
    members_count: Type.Integer({ description: 'How many people are in it.' }),
    created_at: timestampText,
  }),
);
export type Group = Static<typeof Group>;

export const GroupMember = named(
  'GroupMember',
  'A person in a group.',
  object({ group_id: id('group'), user_id: id('user'), added_at: timestampText }),
);
export type GroupMember = Static<typeof GroupMember>;

/** `freeText` refuses NUL, which PostgreSQL cannot store. */
const description = freeText(512, 'What it is for.');

const common = {
  noun: 'groups',
  nounDescription: 'People who get rights together.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
} as const;

export const createGroup = endpoint({
  ...common,
  name: 'createGroup',
  method: 'POST',
  path: '/v1/groups',
  summary: 'Make a group of people',
  description: 'It gives nobody any rights until a policy is attached to it or it is let into a vault.',
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
  description: 'With how many people are in each.',
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
  description: 'The name cannot be changed: policies grant rights by it.',
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
  errors: ['NOT_FOUND'],
});

export const deleteGroup = endpoint({
  ...common,
  name: 'deleteGroup',
  method: 'DELETE',
  path: '/v1/groups/{group_id}',
  summary: 'Remove a group; its members stay',
  description:
    'Needs approval if a policy is attached to the group or it is in a vault, as does every change of its members.',
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
  errors: ['NOT_FOUND'],
});

export const addGroupMember = endpoint({
  ...common,
  name: 'addGroupMember',
  method: 'POST',
  path: '/v1/groups/{group_id}/members',
  summary: 'Put a person into a group',
  description: 'Needs approval if the group has rights: they are theirs from the next request on, on every node.',
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
  errors: ['QUOTA_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'],
});

export const listGroupMembers = endpoint({
  ...common,
  name: 'listGroupMembers',
  method: 'GET',
  path: '/v1/groups/{group_id}/members',
  summary: 'List the people in a group',
  description: 'By id; `GET /v1/users/{user_id}` says who they are.',
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
  summary: 'Take a person out of a group',
  description:
    'What they could do as a member they cannot from the next request on, on every node. Needs approval if the group has rights.',
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
  errors: ['NOT_FOUND'],
});
