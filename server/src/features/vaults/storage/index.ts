export { memberReviews, vaultsById } from './review-store.ts';
export {
  type AuditRetention,
  auditRetentions,
  countLive,
  countSecrets,
  findVault,
  findVaultById,
  lockVault,
  memberUserIds,
  shareVault,
  VAULTS,
  type VaultRow,
  vaultDigest,
  vaultRowsById,
  vaultsAfter,
} from './vault-store.ts';
