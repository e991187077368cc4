export { authorizedVault, isLive, vaultAttributes, vaultNotFound, whatChanged } from './access.ts';
export { type DatedMembership, membershipsOf } from './all-memberships.ts';
export { SECRET_IDS_MAX, Tags, tagText, vaultName } from './contract.ts';
export { managedBy, managersOf } from './deletion.ts';
export { policiesTouchingVault, secretIdsInVault, vaultContentsRemoved } from './links.ts';
export { vaultKeyPurpose } from './retention.ts';
export { requireRoomForSecrets } from './service.ts';
