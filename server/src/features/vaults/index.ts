import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import { markPending, unmarkPending } from './deletion.ts';
import * as members from './members.ts';
import { listVaultsOfUser } from './memberships.ts';
import { purgeVaultsJob } from './retention.ts';
import * as vaults from './service.ts';
import { deleteVaultMember } from './store.ts';

export { authorizedVault, isLive, vaultAttributes, vaultNotFound, whatChanged } from './access.ts';
export { SECRET_IDS_MAX, Tags, tagText, vaultName } from './contract.ts';
export { managedBy, managersOf } from './deletion.ts';
export { vaultKeyPurpose } from './retention.ts';
export { type MemberReview, memberReviews, type NamedVault, vaultsById } from './review-store.ts';
export { requireRoomForSecrets } from './service.ts';
export {
  type AuditRetention,
  auditRetentions,
  countLive,
  countSecrets,
  type DatedMembership,
  findVault,
  findVaultById,
  lockVault,
  membershipsOf,
  memberUserIds,
  shareVault,
  VAULT_MEMBERS,
  VAULTS,
  type VaultRow,
  vaultDigest,
  vaultsAfter,
} from './store.ts';

export function vaultsFeature(kernel: Kernel, wiring: Wiring): Feature {
  const ports = wiring.needs('secretIdsInVault', 'policiesTouchingVault', 'secondFactorSince');
  return {
    name: 'vaults',
    endpoints: bindContract(contract, {
      listVaults: (ctx, { query }) => vaults.list(ctx, query),
      createVault: (ctx, { body }) => vaults.create(ctx, body),
      readVault: (ctx, { params }) => vaults.read(ctx, params.vault, ports),
      updateVault: (ctx, { params, body }) => vaults.update(ctx, params.vault, body),
      deleteVault: (ctx, { params }) => vaults.remove(ctx, params.vault),
      restoreVault: (ctx, { params }) => vaults.restore(ctx, params.vault),
      listMembers: (ctx, { params, query }) => members.list(ctx, params.vault, query),
      addMember: (ctx, { params, body }) => members.add(ctx, params.vault, body, ports),
      changeMember: (ctx, { params, body }) => members.change(ctx, params.vault, params.member_id, body.role, ports),
      removeMember: (ctx, { params }) => members.remove(ctx, params.vault, params.member_id),
      listVaultsOfUser: (ctx, { params, query }) => listVaultsOfUser(ctx, params.user_id, query),
      reviewMembers: (ctx, { params }) => members.review(ctx, params.vault),
    }),
    provides: { addToVaults: members.addToVaults },
    jobs: [purgeVaultsJob(kernel, wiring.removal('vaultContents'))],
    removals: {
      user: (tx, tenantId, userId) => deleteVaultMember(tx, tenantId, 'user', userId),
      group: (tx, tenantId, groupId) => deleteVaultMember(tx, tenantId, 'group', groupId),
    },
    approvalHooks: { vault_delete: { requested: markPending, released: unmarkPending } },
  };
}
