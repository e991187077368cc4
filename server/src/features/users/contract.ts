import Type, { type Static } from 'typebox';
import { RoleName } from '../../kernel/authz/roles.ts';
import { VaultRoleName } from '../../kernel/authz/vault-roles.ts';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  emailText,
  id,
  idParam,
  lineOfText,
  newPassword,
  nextCursor,
  nullable,
  object,
  oneOf,
  pageQuery,
  timestampText,
  vaultName,
} from '../../kernel/wire/wire.ts';

/** The statuses an admin can set. An invited user becomes active by accepting. */
const SET_STATUSES = ['active', 'disabled'] as const;
export const USER_STATUSES = ['invited', ...SET_STATUSES] as const;

const UserStatus = named(
  'UserStatus',
  'invited: has not accepted the invitation yet. disabled: cannot log in; sessions and tokens are revoked.',
  oneOf(USER_STATUSES),
);

const SecondFactorOfUser = named(
  'SecondFactorOfUser',
  'A second factor that a user has confirmed.',
  object({
    kind: oneOf(['totp', 'passkey'], 'totp: an authenticator app. passkey: a passkey or security key.'),
    added_at: timestampText,
    opens_fortress_from: timestampText,
  }),
);
export type SecondFactorOfUser = Static<typeof SecondFactorOfUser>;

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
    break_glass: Type.Boolean({
      description: 'Whether this owner can sign in without the identity provider that the tenant requires.',
    }),
    created_at: timestampText,
    last_seen_at: nullable(
      timestampText,
      'When their newest request was that the audit log lists, to about a minute; null if there was none lately.',
    ),
    second_factors: Type.Array(SecondFactorOfUser, {
      description:
        'What they show besides a password, oldest first; empty if nothing does. Recovery codes are not in it.',
    }),
  }),
);
export type User = Static<typeof User>;

export const Invitation = named(
  'Invitation',
  'An invitation, with which a user chooses a password once.',
  object({
    token: Type.String({ description: 'Returned once. The user sends it to POST /auth/accept-invite.' }),
    expires_at: timestampText,
    mailed: Type.Boolean({
      description:
        'Whether it is mailed to the user. False if the tenant wants no mail, or there was too much: then hand the token over yourself.',
    }),
  }),
);
export type Invitation = Static<typeof Invitation>;

const VAULT_GRANTS_MAX = 20;
export const VaultGrant = named(
  'VaultGrant',
  'A vault, and the role that a new user gets in it.',
  object({ vault: vaultName, role: VaultRoleName }),
);
export type VaultGrant = Static<typeof VaultGrant>;

const displayName = lineOfText({ maxLength: 128 }, 'Display name.');

const userId = described('The id of a user, `user_…`.', idParam);

const common = {
  ...ORDINARY,
  noun: 'users',
  aboutNoun: {
    title: 'Users',
    group: 'People',
    guide: ['people', 'invitations'],
    description: 'The users of a tenant.',
  },
  credentials: ANY_TOKEN,
} as const;

export const createUser = endpoint({
  ...common,
  name: 'createUser',
  alsoAsks: ['users:grant_owner', 'members:add'],
  method: 'POST',
  path: '/v1/users',
  summary: 'Create a user',
  description:
    'A member has no rights until a policy, a group or a role grants some. Only an owner can create an owner. A role other than member needs approval. `vaults` makes the user a member of vaults from the start, which needs what adding a member needs: `members:add` on each, for a production vault approval, and for one with fortress secrets a recent second factor. With `invite` the response contains the token of an invitation, with which the user chooses a password within 72 hours. If approval is needed, that token is not returned; use `POST /v1/users/{user_id}/invite` afterwards.',
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
    vaults: Type.Optional(
      Type.Array(VaultGrant, {
        maxItems: VAULT_GRANTS_MAX,
        description: 'Vaults that the user becomes a member of, each with a role.',
      }),
    ),
  }),
  status: 201,
  output: object({ ...User.properties, invitation: Type.Optional(Invitation) }),
  errors: ['QUOTA_EXCEEDED', 'ALREADY_EXISTS', 'VAULT_NOT_FOUND', 'MFA_REQUIRED'],
});

export const inviteUser = endpoint({
  ...common,
  name: 'inviteUser',
  alsoAsks: ['users:grant_owner', 'users:update'],
  method: 'POST',
  path: '/v1/users/{user_id}/invite',
  summary: 'Invite a user who has no password',
  description:
    'For a user without a password: one who has not accepted an invitation, which is then replaced, or one created without an invitation, whose tokens are then revoked. A user who has a second factor, or whom an identity provider signs in, cannot be invited. Only the user who invited them can repeat it or, for a member, a caller with `users:update`, because anyone who holds the token can take over the account. An invitation ends when its issuer is disabled or deleted, or gets another role.',
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

export const updateMe = endpoint({
  ...common,
  name: 'updateMe',
  region: 'local',
  method: 'PATCH',
  path: '/auth/me',
  summary: 'Change your display name',
  description:
    'Others see it beside your e-mail address. An identity provider that provisions your account may set it again.',
  permission: 'self:update',
  resource: 'self',
  rate: 'write',
  audit: 'self:update',
  effect: 'change',
  params: NONE,
  query: NONE,
  body: object({ name: displayName }),
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
    'Takes effect with the next request, on every node. A new password or status `disabled` ends their sessions and revokes their tokens. The last active owner cannot be demoted or disabled, and only an owner can change an owner. A new role, a new status of an owner or admin, a new password of anyone but a member, and `break_glass` need approval; only an owner can set `break_glass`. A new status or password ends an invitation that was not accepted.',
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
    break_glass: Type.Optional(
      Type.Boolean({
        description:
          'For an active owner who is linked with no identity provider: can sign in without the identity provider that the tenant requires, and cannot be disabled, demoted or deleted. Each sign-in is reported to the owners and admins.',
      }),
    ),
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
  description: 'Deleting an owner or admin needs approval. A break-glass owner cannot be deleted.',
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
