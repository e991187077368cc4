import { feature } from '../../kernel/feature/declaration.ts';
import { groupRemoved } from '../groups/index.ts';
import { addToVaults, userRemoved } from '../users/index.ts';
import * as contract from './contract.ts';
import { markPending, unmarkPending } from './deletion.ts';
import { vaultContentsRemoved, vaultNeeds } from './links.ts';
import * as members from './members.ts';
import { listVaultsOfUser } from './memberships.ts';
import { purgeVaultsJob } from './retention.ts';
import * as vaults from './service.ts';
import { vaultSettings } from './settings.ts';
import { deleteVaultMember, VAULT_MEMBERS, VAULTS } from './storage/vault-store.ts';
import { deleteTimedAccessOf, TIMED_ACCESS } from './timed-access/timed-access-store.ts';

export const vaultsFeature = feature({
  name: 'vaults',
  endpoints: contract,
  tables: { authenticated: [VAULTS, VAULT_MEMBERS, TIMED_ACCESS] },
  ids: ['vault'],
  settings: [vaultSettings],
  uses: ['audit', 'clock', 'database'],
  needs: vaultNeeds,
  removes: { vaultContentsRemoved },
  build: (parts) => ({
    handlers: {
      listVaults: (ctx, { query }) => vaults.list(ctx, query),
      createVault: (ctx, { body }) => vaults.create(ctx, body),
      readVault: (ctx, { params }) => vaults.read(ctx, params.vault, parts),
      updateVault: (ctx, { params, body }) => vaults.update(ctx, params.vault, body, parts),
      deleteVault: (ctx, { params }) => vaults.remove(ctx, params.vault, parts),
      restoreVault: (ctx, { params }) => vaults.restore(ctx, params.vault, parts),
      listMembers: (ctx, { params, query }) => members.list(ctx, params.vault, query),
      addMember: (ctx, { params, body }) => members.add(ctx, params.vault, body, parts),
      changeMember: (ctx, { params, body }) =>
        members.change(ctx, { vault: params.vault, memberId: params.member_id }, body.role, parts),
      removeMember: (ctx, { params }) => members.remove(ctx, params.vault, params.member_id),
      listVaultsOfUser: (ctx, { params, query }) => listVaultsOfUser(ctx, params.user_id, query),
      reviewMembers: (ctx, { params }) => members.review(ctx, params.vault),
    },
    provides: [addToVaults.by(members.addToVaults)],
    jobs: [purgeVaultsJob(parts, parts.vaultContentsRemoved)],
    removals: [
      userRemoved.by(async (tx, tenantId, userId) => {
        await deleteVaultMember(tx, tenantId, 'user', userId);
        await deleteTimedAccessOf(tx, tenantId, userId);
      }),
      groupRemoved.by((tx, tenantId, groupId) => deleteVaultMember(tx, tenantId, 'group', groupId)),
    ],
    approvalHooks: { vault_delete: { requested: markPending, released: unmarkPending } },
  }),
});
