export { accountState } from './account-state.ts';
export { isExemptFromSignOn, isMarked } from './break-glass.ts';
export type { SecondFactorOfUser, VaultGrant } from './contract.ts';
export { INVITATION_TOKEN } from './invitation.ts';
export { deleteInvitation, findInvitation, type InvitationRow, lockInvitation } from './invitation-store.ts';
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
export { endAccount, insertNew, lockChangeable, newProvidedUser, newUser, settleInvitations } from './service.ts';
export {
  activeUsersAfter,
  countActiveAdmins,
  countUsers,
  findActiveUsers,
  findUser,
  findUserByEmail,
  findUserByIdOrEmail,
  findUsers,
  hasAccountAnywhere,
  listActiveAdmins,
  listActiveOwners,
  listPeople,
  lockUser,
  onlyUser,
  USERS,
  type UserRow,
  updateUser,
} from './store.ts';
