import Type, { type Static } from 'typebox';
import { RoleName } from '../../kernel/authz/roles.ts';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { described, named } from '../../kernel/named-schemas.ts';
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
} from '../../kernel/wire.ts';

/** The statuses an admin can set. An invited user becomes active by accepting. */
const SET_STATUSES = ['active', 'disabled'] as const;
export const USER_STATUSES = ['invited', ...SET_STATUSES] as const;

const UserStatus = named(
  'UserStatus',
  'invited: they have not accepted yet. disabled: they cannot log in, and their sessions and tokens ended.',
  oneOf(USER_STATUSES),
);

export const User = named(
  'User',
  'A person of the tenant.',
  object({
    id: id('user'),
    email: Type.String({ description: 'The address they log in with.' }),
    name: Type.String({ description: 'What people call them.' }),
    role: RoleName,
    status: UserStatus,
    has_password: Type.Boolean({ description: 'False: they cannot log in with one.' }),
    created_at: timestampText,
  }),
);
export type User = Static<typeof User>;

export const Invitation = named(
  'Invitation',
  'What a person needs to choose a password, once.',
  object({
    token: Type.String({ description: 'Shown once. The person sends it to POST /auth/accept-invite.' }),
    expires_at: timestampText,
  }),
);
export type Invitation = Static<typeof Invitation>;

const displayName = lineOfText({ maxLength: 128 }, 'What people call them.');

const userId = described('The id of a person, `user_…`.', idParam);

const common = {
  noun: 'users',
  nounDescription: 'The people of a tenant.',
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
  summary: 'Add a person to the tenant',
  description:
    'A member has no rights until a policy, a group or a role gives some. Only an owner can make an owner. A role other than member needs approval. With ' +
    '`invite` the answer holds the token of an invitation, by which the person chooses their own password within 72 hours. Where approval is needed nobody ' +
    'is shown that token, and `POST /v1/users/{user_id}/invite` makes another.',
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
    role: Type.Optional(described('member unless given.', RoleName)),
    password: Type.Optional(newPassword),
    invite: Type.Optional(
      Type.Boolean({ description: 'The person chooses the password by an invitation; not together with `password`.' }),
    ),
  }),
  status: 201,
  output: object({ ...User.properties, invitation: Type.Optional(Invitation) }),
  errors: ['ALREADY_EXISTS'],
});

export const inviteUser = endpoint({
  ...common,
  name: 'inviteUser',
  alsoAsks: ['users:grant_owner', 'users:update'],
  method: 'POST',
  path: '/v1/users/{user_id}/invite',
  summary: 'Invite a person who has no password',
  description:
    'For a person who has no password: who has not accepted an invitation, which then ends, or was added without one, whose tokens end. Only who ' +
    'invited them can do it, or, for a member, who may also change the account (`users:update`): whoever holds the token can become them. An invitation ends when ' +
    'who gave it is disabled or deleted, or gets another role.',
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
  summary: 'List the people of the tenant',
  description: 'In the order in which they were added, those that are disabled too.',
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
  summary: 'Read one person',
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
  summary: 'Change a person’s name, role, status or password',
  description:
    'Takes effect on the next request, on every node. A new password or status `disabled` ends their sessions and revokes their tokens. The last active owner ' +
    'cannot be demoted or disabled, and only an owner can change an owner. A new role needs approval, and so does a new status of an owner or admin, and a new password of anybody but a member. A new status or password ends an invitation that was not accepted.',
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
    status: Type.Optional(oneOf(SET_STATUSES, 'Who is disabled cannot log in, and their sessions and tokens end.')),
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
  summary: 'Remove a person and all their tokens',
  description: 'To remove an owner or admin needs approval.',
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
