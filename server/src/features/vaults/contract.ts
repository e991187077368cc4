import Type, { type Static } from 'typebox';
import { environmentText } from '../../kernel/authz/environment.ts';
import { VAULT_ROLES } from '../../kernel/authz/vault-roles.ts';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { described, named } from '../../kernel/named-schemas.ts';
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
} from '../../kernel/wire.ts';
import {
  AuditChange,
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
  noun: 'vaults',
  nounDescription: 'Containers of secrets: their stage, settings and members, deleting and restoring them.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  query: NONE,
  body: NONE,
} as const;

export const listVaults = endpoint({
  ...common,
  name: 'listVaults',
  method: 'GET',
  path: '/v1/vaults',
  summary: 'List the vaults you may see',
  description: 'Ordered by name. Deleted ones are shown only if `status` asks for them.',
  permission: 'vaults:list',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  rate: 'read',
  audit: 'vaults:list',
  effect: 'read',
  params: NONE,
  query: object({
    environment: Type.Optional(environmentText),
    status: Type.Optional(described('Only vaults of this status; all but deleted ones unless given.', VaultStatus)),
    tags: Type.Optional(Type.Array(tagText, { maxItems: 8, description: 'Only vaults with all of these.' })),
    ...pageQuery,
  }),
  status: 200,
  output: object({
    vaults: Type.Array(VaultSummary),
    total: Type.Integer({ description: 'How many there are on all pages.' }),
    next_cursor: nextCursor,
  }),
  errors: [],
});

export const createVault = endpoint({
  ...common,
  name: 'createVault',
  method: 'POST',
  path: '/v1/vaults',
  summary: 'Make a vault',
  description:
    'Whoever makes it becomes its manager. Without `environment` it is for development. One that does not list its reads (`audit.log_reads` false) needs ' +
    'approval: the answer is 202 then.',
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
        'How values are sealed; what is left out is as by default.',
        object({
          algorithm: Type.Optional(oneOf(['AES-256-GCM'], 'How values are sealed.')),
          key_source: Type.Optional(KeySource),
          rotation_days: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 3650,
              description: 'The vault’s key is replaced after so many days; 90 unless given.',
            }),
          ),
        }),
      ),
    ),
    audit: Type.Optional(AuditChange),
    is_zero_knowledge: Type.Optional(
      Type.Boolean({
        description: 'Values are sealed by clients and never seen by the service. Cannot be changed later.',
      }),
    ),
  }),
  status: 201,
  output: Vault,
  errors: ['VAULT_ALREADY_EXISTS'],
});

export const readVault = endpoint({
  ...common,
  name: 'readVault',
  method: 'GET',
  path: '/v1/vaults/{vault}',
  summary: 'Read a vault',
  description: 'With the ids of what is in it and the policies that say something about it.',
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
    'To list its reads no longer (`audit.log_reads` false), or to keep audit entries for less time (`audit.retention_days`), needs approval: the answer is 202 then.',
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
        'How values are sealed.',
        object({
          rotation_days: Type.Integer({
            minimum: 1,
            maximum: 3650,
            description: 'The vault’s key is replaced after so many days.',
          }),
        }),
      ),
    ),
    audit: Type.Optional(AuditChange),
    name: Type.Optional(Type.Unknown({ description: 'Never changes: it stands in paths and policies.' })),
    is_zero_knowledge: Type.Optional(Type.Unknown({ description: 'Never changes.' })),
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
  description: 'A production vault waits for approval by a vault manager and an admin: the answer is 202 then.',
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
  summary: 'Undo the deletion of a vault',
  description: 'With all that was in it, until `purge_at`.',
  permission: 'vaults:restore',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  rate: 'write',
  audit: 'vault_restored',
  effect: 'change',
  params: vaultParam,
  status: 200,
  output: Vault,
  errors: ['VAULT_NOT_FOUND'],
});

const Role = named(
  'VaultRole',
  'reader: lists and reads. writer: also changes secrets. manager: also the vault and its members.',
  oneOf(VAULT_ROLES),
);

export const Member = named(
  'VaultMember',
  'A user or group that is in a vault.',
  object({
    id: Type.String({ description: 'The user or group.' }),
    kind: named('MemberKind', 'Which of the two a member is.', oneOf(['user', 'group'])),
    role: Role,
    added_at: timestampText,
    reviewed_at: nullable(timestampText),
    reviewed_by: nullable(Type.String({ description: 'Who reviewed the membership last.' })),
  }),
);
export type Member = Static<typeof Member>;

const memberParams = object({ vault: vaultName, member_id: described('The id of the user or group.', idParam) });

export const listMembers = endpoint({
  ...common,
  name: 'listVaultMembers',
  method: 'GET',
  path: '/v1/vaults/{vault}/members',
  summary: 'List who is in a vault',
  description: 'With their roles, and when each membership was last reviewed.',
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
  summary: 'Let a user or group into a vault',
  description:
    'Into a production vault needs approval: the answer is 202 then. Into one with fortress secrets takes a second factor shown just now.',
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
    role: Role,
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
    'More rights in a production vault need approval: the answer is 202 then. While the deletion of the vault waits for approval, its managers stay who they are.',
  approval: 'rbac_change',
  permission: 'members:update',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  rate: 'write',
  audit: 'vault_member_changed',
  effect: 'change',
  params: memberParams,
  body: object({ role: Role }),
  status: 200,
  output: Member,
  errors: ['VAULT_NOT_FOUND', 'NOT_FOUND', 'IN_USE'],
});

export const removeMember = endpoint({
  ...common,
  name: 'removeVaultMember',
  method: 'DELETE',
  path: '/v1/vaults/{vault}/members/{member_id}',
  summary: 'Take a user or group out of a vault',
  description: 'What they could do as a member they cannot from the next request on, on every node.',
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
  summary: 'Say that you looked at the members and they are right',
  description: 'All of them are marked as reviewed now, by you.',
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
    reviewed: Type.Integer({ description: 'How many members were reviewed.' }),
    reviewed_at: timestampText,
  }),
  errors: ['VAULT_NOT_FOUND'],
});
