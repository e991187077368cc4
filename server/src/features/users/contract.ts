import Type, { type Static } from 'typebox';
import { RoleName } from '../../kernel/authz/roles.ts';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/request/declaration.ts';
import { described, named } from '../../kernel/request/named-schemas.ts';
import {
  Deleted,
  emailText,
  id,
  idParam,
  lineOfText,
  newPassword,
  nextCursor,
  object,
  oneOf,
  pageQuery,
  timestampText,
} from '../../kernel/request/wire.ts';

declare module '../../kernel/platform/ids.ts' {
  interface IdPrefixes {
    user: 'users';
  }
}

/** The statuses an admin can set. An invited user becomes active by accepting. */
const SET_STATUSES = ['active', 'disabled'] as const;
export const USER_STATUSES = ['invited', ...SET_STATUSES] as const;

const UserStatus = named(
  'UserStatus',
  'invited: has not accepted the invitation yet. disabled: cannot log in; sessions and tokens are revoked.',
  oneOf(USER_STATUSES),
);

export const User = named(
  'User',
  'A user of the tenant.',
  object({
    id: id('user'),
    email: Type.String({ description: 'The address they log in with.' }),
    name: Type.String({ description: 'Display name.' }),
    role: RoleName,
    status: UserStatus,
    has_password: Type.Boolean({ description: 'If false, the user cannot log in with a password.' }),
    created_at: timestampText,
  }),
);
export type User = Static<typeof User>;

export const Invitation = named(
  'Invitation',
  'An invitation, with which a user chooses a password once.',
  object({
    token: Type.String({ description: 'Returned once. The user sends it to POST /auth/accept-invite.' }),
    expires_at: timestampText,
  }),
);
export type Invitation = Static<typeof Invitation>;

const displayName = lineOfText({ maxLength: 128 }, 'Display name.');

const userId = described('The id of a user, `user_…`.', idParam);

const common = {
  noun: 'users',
  nounDescription: 'The users of a tenant.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
} as const;

export const createUser = endpoint({
  ...common,
  name: 'createUser',
  alsoAsks: ['users:grant_owner'],
  method: 'POST',
  path: '/v1/users',
  summary: 'Create a user',
  description:
    'A member has no rights until a policy, a group or a role grants some. Only an owner can create an owner. A role other than member needs approval. With `invite` the response contains the token of an invitation, with which the user chooses a password within 72 hours. If approval is needed, that token is not returned; use `POST /v1/users/{user_id}/invite` afterwards.',
  permission: 'users:create',
  resource: 'user',
  rate: 'write',
  audit: 'users:create',
  effect: 'change',
  approval: 'rbac_change',
  params: NONE,
  query: NONE,
  body: object({
    email: emailText,
    name: Type.Optional(displayName),
    role: Type.Optional(described('Default: member.', RoleName)),
    password: Type.Optional(newPassword),
    invite: Type.Optional(
      Type.Boolean({
        description: 'If true, the user chooses the password with an invitation; cannot be combined with `password`.',
      }),
    ),
  }),
  status: 201,
  output: object({ ...User.properties, invitation: Type.Optional(Invitation) }),
  errors: ['QUOTA_EXCEEDED', 'ALREADY_EXISTS'],
});

export const inviteUser = endpoint({
  ...common,
  name: 'inviteUser',
  alsoAsks: ['users:grant_owner', 'users:update'],
  method: 'POST',
  path: '/v1/users/{user_id}/invite',
  summary: 'Invite a user who has no password',
  description:
    'For a user without a password: one who has not accepted an invitation, which is then replaced, or one created without an invitation, whose tokens are then revoked. Only the user who invited them can repeat it or, for a member, a caller with `users:update`, because anyone who holds the token can take over the account. An invitation ends when its issuer is disabled or deleted, or gets another role.',
  permission: 'users:invite',
  resource: 'user/{user_id}',
  rate: 'write',
  audit: 'users:invite',
  effect: 'change',
  params: object({ user_id: userId }),
  query: NONE,
  body: NONE,
  status: 201,
  output: Invitation,
  errors: ['NOT_FOUND', 'IN_USE'],
});

export const listUsers = endpoint({
  ...common,
  name: 'listUsers',
  method: 'GET',
  path: '/v1/users',
  summary: 'List the users of the tenant',
  description: 'In the order of creation, including disabled users.',
  permission: 'users:list',
  resource: 'user',
  rate: 'read',
  audit: 'users:list',
  effect: 'read',
  params: NONE,
  query: object(pageQuery),
  body: NONE,
  status: 200,
  output: object({ users: Type.Array(User), next_cursor: nextCursor }),
  errors: [],
});

export const readUser = endpoint({
  ...common,
  name: 'readUser',
  method: 'GET',
  path: '/v1/users/{user_id}',
  summary: 'Read a user',
  description: 'By id.',
  permission: 'users:read',
  resource: 'user/{user_id}',
  rate: 'read',
  audit: 'users:read',
  effect: 'read',
  params: object({ user_id: userId }),
  query: NONE,
  body: NONE,
  status: 200,
  output: User,
  errors: ['NOT_FOUND'],
});

export const updateUser = endpoint({
  ...common,
  name: 'updateUser',
  alsoAsks: ['users:grant_owner'],
  method: 'PATCH',
  path: '/v1/users/{user_id}',
  summary: 'Change a user’s name, role, status or password',
  description:
    'Takes effect with the next request, on every node. A new password or status `disabled` ends their sessions and revokes their tokens. The last active owner cannot be demoted or disabled, and only an owner can change an owner. A new role, a new status of an owner or admin, and a new password of anyone but a member need approval. A new status or password ends an invitation that was not accepted.',
  permission: 'users:update',
  resource: 'user/{user_id}',
  rate: 'write',
  audit: 'users:update',
  effect: 'change',
  approval: 'rbac_change',
  params: object({ user_id: userId }),
  query: NONE,
  body: object({
    name: Type.Optional(displayName),
    role: Type.Optional(RoleName),
    status: Type.Optional(oneOf(SET_STATUSES, 'A disabled user cannot log in; their sessions and tokens are revoked.')),
    password: Type.Optional(newPassword),
  }),
  status: 200,
  output: User,
  errors: ['NOT_FOUND'],
});

export const deleteUser = endpoint({
  ...common,
  name: 'deleteUser',
  method: 'DELETE',
  path: '/v1/users/{user_id}',
  summary: 'Delete a user and all their tokens',
  description: 'Deleting an owner or admin needs approval.',
  permission: 'users:delete',
  resource: 'user/{user_id}',
  rate: 'write',
  audit: 'users:delete',
  effect: 'change',
  approval: 'rbac_change',
  params: object({ user_id: userId }),
  query: NONE,
  body: NONE,
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});
