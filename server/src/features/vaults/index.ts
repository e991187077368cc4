export { authorizedVault, isLive, vaultAttributes, vaultNotFound, whatChanged } from './access.ts';
export { SECRET_IDS_MAX, Tags, tagText, vaultName } from './contract.ts';
export { managedBy, managersOf } from './deletion.ts';
export { policiesTouchingVault, secretIdsInVault, vaultContentsRemoved } from './links.ts';
export { vaultKeyPurpose } from './retention.ts';
export { memberReviews, vaultsById } from './review-store.ts';
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
  VAULTS,
  type VaultRow,
  vaultDigest,
  vaultsAfter,
} from './store.ts';
