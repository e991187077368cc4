export { accountState } from './account-state.ts';
export { isExemptFromSignOn, isMarked } from './break-glass.ts';
export type { SecondFactorOfUser, VaultGrant } from './contract.ts';
export {
  addToVaults,
  hasSignOnIdentity,
  isProvisioned,
  lastSeenOf,
  revokeTokensOf,
  secondFactorSince,
  secondFactorsOf,
  signOnLinks,
  takeOverSuspension,
  userRemoved,
} from './links.ts';
export { endAccount, insertNew, lockChangeable, newProvidedUser, newUser } from './service.ts';
