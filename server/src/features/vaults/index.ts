import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import * as contract from './contract.ts';
import * as members from './members.ts';
import { type PurgePorts, purgeVaultsJob } from './retention.ts';
import * as vaults from './service.ts';

export { authorizedVault, isLive, vaultAttributes, vaultNotFound, whatChanged } from './access.ts';
export { SECRET_IDS_MAX, Tags, tagText, vaultName } from './contract.ts';
export { managedBy, managersOf, markPending, unmarkPending } from './deletion.ts';
export { vaultKeyPurpose } from './retention.ts';
export {
  type AuditRetention,
  auditRetentions,
  countSecrets,
  findVault,
  findVaultById,
  forgetMember,
  lockVault,
  membershipsOf,
  shareVault,
  VAULT_MEMBERS,
  VAULTS,
  type VaultRow,
  vaultsAfter,
} from './store.ts';

export function vaultsFeature(kernel: Kernel, ports: vaults.VaultPorts & PurgePorts): Feature {
  return {
    name: 'vaults',
    endpoints: [
      bind(contract.listVaults, (ctx, { query }) => vaults.list(ctx, query)),
      bind(contract.createVault, (ctx, { body }) => vaults.create(ctx, body)),
      bind(contract.readVault, (ctx, { params }) => vaults.read(ctx, params.vault, ports)),
      bind(contract.updateVault, (ctx, { params, body }) => vaults.update(ctx, params.vault, body)),
      bind(contract.deleteVault, (ctx, { params }) => vaults.remove(ctx, params.vault)),
      bind(contract.restoreVault, (ctx, { params }) => vaults.restore(ctx, params.vault)),
      bind(contract.listMembers, (ctx, { params, query }) => members.list(ctx, params.vault, query)),
      bind(contract.addMember, (ctx, { params, body }) => members.add(ctx, params.vault, body)),
      bind(contract.changeMember, (ctx, { params, body }) =>
        members.change(ctx, params.vault, params.member_id, body.role),
      ),
      bind(contract.removeMember, (ctx, { params }) => members.remove(ctx, params.vault, params.member_id)),
      bind(contract.reviewMembers, (ctx, { params }) => members.review(ctx, params.vault)),
    ],
    jobs: [purgeVaultsJob(kernel, ports)],
  };
}
