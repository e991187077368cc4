import Type, { type Static } from 'typebox';
import { EnvironmentNameSchema, environmentText } from '../../kernel/authz/environment.ts';
import { VaultRoleName } from '../../kernel/authz/vault-roles.ts';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  idParam,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  oneOf,
  pageQuery,
  resourceName,
  timestampText,
} from '../../kernel/wire/wire.ts';
import {
  AuditChange,
  ChangeControl,
  description,
  KeySource,
  Tags,
  tagText,
  Vault,
  VaultDetail,
  VaultStatus,
  VaultSummary,
  vaultName,
  vaultParam,
} from './schemas.ts';

export * from './schemas.ts';

const common = {
  ...ORDINARY,
  noun: 'vaults',
  aboutNoun: {
    title: 'Vaults',
    group: 'Secrets',
    guide: ['vaults', 'zero-knowledge'],
    description: 'Containers of secrets: their environment, settings and members, deletion and restoration.',
  },
  credentials: ANY_TOKEN,
  query: NONE,
  body: NONE,
} as const;

export const listVaults = endpoint({
  ...common,
  name: 'listVaults',
  method: 'GET',
  path: '/v1/vaults',
  summary: 'List the vaults you may see',
  description: 'Ordered by name. Deleted vaults are listed only if `status` selects them.',
  permission: 'vaults:list',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  rate: 'read',
  audit: 'vaults:list',
  effect: 'read',
  params: NONE,
  query: object({
    environment: Type.Optional(environmentText),
    status: Type.Optional(described('Only vaults with this status; default: all except deleted ones.', VaultStatus)),
    tags: Type.Optional(Type.Array(tagText, { maxItems: 8, description: 'Only vaults with all of these tags.' })),
    ...pageQuery,
  }),
  status: 200,
  output: object({
    vaults: Type.Array(VaultSummary),
    total: Type.Integer({ description: 'Total number on all pages.' }),
    next_cursor: nextCursor,
  }),
  errors: [],
});

export const createVault = endpoint({
  ...common,
  name: 'createVault',
  method: 'POST',
  path: '/v1/vaults',
  summary: 'Create a vault',
  description:
    'The creator becomes its manager. Default environment: development. A vault that does not log reads (`audit.log_reads` false) needs approval; the response is then 202.',
  approval: 'siem_change',
  permission: 'vaults:create',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  rate: 'write',
  audit: 'vault_created',
  effect: 'change',
  params: NONE,
  body: object({
    name: resourceName,
    description: Type.Optional(description),
    environment: Type.Optional(environmentText),
    tags: Type.Optional(Tags),
    encryption: Type.Optional(
      described(
        'Encryption settings; omitted fields use the defaults.',
        object({
          algorithm: Type.Optional(oneOf(['AES-256-GCM'], 'Encryption algorithm of the values.')),
          key_source: Type.Optional(KeySource),
          rotation_days: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 3650,
              description: 'Interval between rotations of the vault’s key, in days; default: 90.',
            }),
          ),
        }),
      ),
    ),
    audit: Type.Optional(AuditChange),
    change_control: Type.Optional(ChangeControl),
    is_zero_knowledge: Type.Optional(
      Type.Boolean({
        description:
          'If true, clients encrypt the values and the service never sees the plaintext. Cannot be changed later.',
      }),
    ),
  }),
  status: 201,
  output: Vault,
  errors: ['QUOTA_EXCEEDED', 'TIER_REQUIRED', 'VAULT_ALREADY_EXISTS'],
});

export const readVault = endpoint({
  ...common,
  name: 'readVault',
  method: 'GET',
  path: '/v1/vaults/{vault}',
  summary: 'Read a vault',
  description: 'Includes the ids of its secrets and the names of the policies that apply to it.',
  permission: 'vaults:read',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  rate: 'read',
  audit: 'vaults:read',
  effect: 'read',
  params: vaultParam,
  status: 200,
  output: VaultDetail,
  errors: ['VAULT_NOT_FOUND'],
});

export const updateVault = endpoint({
  ...common,
  name: 'updateVault',
  method: 'PATCH',
  path: '/v1/vaults/{vault}',
  summary: 'Change a vault’s description, tags or settings',
  description:
    'Omitted fields are unchanged. Disabling read logging (`audit.log_reads` false), or shortening `audit.retention_days`, needs approval; the response is then 202.',
  approval: 'siem_change',
  permission: 'vaults:update',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  rate: 'write',
  audit: 'vault_updated',
  effect: 'change',
  params: vaultParam,
  body: object({
    description: Type.Optional(description),
    tags: Type.Optional(Tags),
    encryption: Type.Optional(
      described(
        'Encryption settings.',
        object({
          rotation_days: Type.Integer({
            minimum: 1,
            maximum: 3650,
            description: 'Interval between rotations of the vault’s key, in days.',
          }),
        }),
      ),
    ),
    audit: Type.Optional(AuditChange),
    change_control: Type.Optional(ChangeControl),
    name: Type.Optional(Type.Unknown({ description: 'Cannot be changed, because paths and policies refer to it.' })),
    is_zero_knowledge: Type.Optional(Type.Unknown({ description: 'Cannot be changed.' })),
  }),
  status: 200,
  output: Vault,
  errors: ['VAULT_NOT_FOUND', 'ZK_FLAG_IMMUTABLE'],
});

export const deleteVault = endpoint({
  ...common,
  name: 'deleteVault',
  method: 'DELETE',
  path: '/v1/vaults/{vault}',
  summary: 'Delete a vault; it can be restored until it is purged',
  description: 'Deleting a production vault needs approval by a vault manager and an admin; the response is then 202.',
  approval: 'vault_delete',
  permission: 'vaults:delete',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  rate: 'write',
  audit: 'vault_deleted',
  effect: 'change',
  params: vaultParam,
  status: 200,
  output: object({ ...Vault.properties, ...Deleted.properties }),
  errors: ['VAULT_NOT_FOUND'],
});

export const restoreVault = endpoint({
  ...common,
  name: 'restoreVault',
  method: 'POST',
  path: '/v1/vaults/{vault}/restore',
  summary: 'Restore a deleted vault',
  description: 'Restores the vault with all its secrets. Possible until `purge_at`.',
  permission: 'vaults:restore',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  rate: 'write',
  audit: 'vault_restored',
  effect: 'change',
  params: vaultParam,
  status: 200,
  output: Vault,
  errors: ['QUOTA_EXCEEDED', 'VAULT_NOT_FOUND'],
});

export const Member = named(
  'VaultMember',
  'A user or group that is a member of a vault.',
  object({
    id: Type.String({ description: 'Id of the user or group.' }),
    kind: named('MemberKind', 'Kind of a member.', oneOf(['user', 'group'])),
    role: VaultRoleName,
    added_at: timestampText,
    reviewed_at: nullable(timestampText),
    reviewed_by: nullable(Type.String({ description: 'The user who last reviewed the membership.' })),
  }),
);
export type Member = Static<typeof Member>;

const memberParams = object({ vault: vaultName, member_id: described('The id of the user or group.', idParam) });

export const listMembers = endpoint({
  ...common,
  name: 'listVaultMembers',
  method: 'GET',
  path: '/v1/vaults/{vault}/members',
  summary: 'List the members of a vault',
  description: 'Includes their roles, and when each membership was last reviewed.',
  permission: 'members:list',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  rate: 'read',
  audit: 'members:list',
  effect: 'read',
  params: vaultParam,
  query: object(pageQuery),
  status: 200,
  output: object({ members: Type.Array(Member), next_cursor: nextCursor }),
  errors: ['VAULT_NOT_FOUND'],
});

export const addMember = endpoint({
  ...common,
  name: 'addVaultMember',
  method: 'POST',
  path: '/v1/vaults/{vault}/members',
  summary: 'Add a user or group to a vault',
  description:
    'Adding a member to a production vault needs approval; the response is then 202. If the vault holds fortress secrets, a recent second factor is required.',
  approval: 'rbac_change',
  permission: 'members:add',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  rate: 'write',
  audit: 'vault_member_added',
  effect: 'change',
  params: vaultParam,
  body: objectWithExamples([{ user: 'ada@example.com', role: 'reader' }], {
    user: Type.Optional(Type.String({ minLength: 1, maxLength: 254, description: 'A user, by id or e-mail address.' })),
    group: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'A group, by id or name.' })),
    role: VaultRoleName,
  }),
  status: 201,
  output: Member,
  errors: ['QUOTA_EXCEEDED', 'VAULT_NOT_FOUND', 'NOT_FOUND', 'ALREADY_EXISTS'],
});

export const changeMember = endpoint({
  ...common,
  name: 'changeVaultMember',
  method: 'PATCH',
  path: '/v1/vaults/{vault}/members/{member_id}',
  summary: 'Change the role of a member',
  description:
    'Granting more rights in a production vault needs approval; the response is then 202. While the deletion of the vault is pending approval, its managers cannot be changed.',
  approval: 'rbac_change',
  permission: 'members:update',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  rate: 'write',
  audit: 'vault_member_changed',
  effect: 'change',
  params: memberParams,
  body: object({ role: VaultRoleName }),
  status: 200,
  output: Member,
  errors: ['VAULT_NOT_FOUND', 'NOT_FOUND', 'IN_USE'],
});

export const removeMember = endpoint({
  ...common,
  name: 'removeVaultMember',
  method: 'DELETE',
  path: '/v1/vaults/{vault}/members/{member_id}',
  summary: 'Remove a user or group from a vault',
  description: 'The rights of the membership end with the next request, on every node.',
  permission: 'members:remove',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  rate: 'write',
  audit: 'vault_member_removed',
  effect: 'change',
  params: memberParams,
  status: 200,
  output: Deleted,
  errors: ['VAULT_NOT_FOUND', 'NOT_FOUND'],
});

export const reviewMembers = endpoint({
  ...common,
  name: 'reviewVaultMembers',
  method: 'POST',
  path: '/v1/vaults/{vault}/members/review',
  summary: 'Confirm a review of the vault’s members',
  description: 'Marks all members as reviewed now, by you.',
  permission: 'members:review',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  rate: 'write',
  audit: 'vault_members_reviewed',
  effect: 'change',
  params: vaultParam,
  status: 200,
  output: object({
    vault: Type.String({ description: 'Its name.' }),
    reviewed: Type.Integer({ description: 'Number of reviewed members.' }),
    reviewed_at: timestampText,
  }),
  errors: ['VAULT_NOT_FOUND'],
});

export const MembershipOfUser = named(
  'VaultOfUser',
  'A vault that a user is a member of.',
  object({
    vault: Type.String({ description: 'Its name.' }),
    environment: EnvironmentNameSchema,
    role: VaultRoleName,
    group: nullable(
      Type.String(),
      'The group that is the member, by name, or by id if you may not read it; null if it is the user themselves.',
    ),
    added_at: timestampText,
  }),
);
export type MembershipOfUser = Static<typeof MembershipOfUser>;

export const listVaultsOfUser = endpoint({
  ...common,
  name: 'listVaultsOfUser',
  alsoAsks: ['members:list', 'groups:read'],
  method: 'GET',
  path: '/v1/users/{user_id}/vaults',
  summary: 'List the vaults that a user is a member of',
  description:
    'Themselves or by a group, ordered by name; only vaults whose members you may list. What policies and the role of the user allow is not in it: see POST /v1/policies/who-can.',
  permission: 'users:read',
  resource: 'user/{user_id}',
  rate: 'read',
  audit: 'users:list_vaults',
  effect: 'read',
  params: object({ user_id: described('The id of a user, `user_…`.', idParam) }),
  query: object(pageQuery),
  status: 200,
  output: object({ vaults: Type.Array(MembershipOfUser), next_cursor: nextCursor }),
  errors: ['NOT_FOUND'],
});
