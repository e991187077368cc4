import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import { Users } from './service.ts';

export { accountState } from './account-state.ts';
export { isExemptFromSignOn, isMarked } from './break-glass.ts';
export type { SecondFactorOfUser, VaultGrant } from './contract.ts';
export { INVITATION_TOKEN } from './invitation.ts';
export {
  deleteInvitation,
  findInvitation,
  INVITATIONS,
  type InvitationRow,
  lockInvitation,
} from './invitation-store.ts';
export { endAccount, insertNew, lockChangeable, newUser, settleInvitations } from './service.ts';
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

export function usersFeature(_: Kernel, wiring: Wiring): Feature {
  const ports = wiring.needs(
    'revokeTokensOf',
    'secondFactorSince',
    'secondFactorsOf',
    'takeOverSuspension',
    'addToVaults',
    'lastSeenOf',
    'signOnLinks',
    'hasSignOnIdentity',
  );
  const users = new Users(ports, wiring.removal('user'));
  return {
    name: 'users',
    endpoints: bindContract(contract, {
      createUser: (ctx, { body }) => users.create(ctx, body),
      inviteUser: (ctx, { params }) => users.invite(ctx, params.user_id),
      listUsers: (ctx, { query }) => users.list(ctx, query),
      updateMe: (ctx, { body }) => users.rename(ctx, body.name),
      readUser: (ctx, { params }) => users.read(ctx, params.user_id),
      updateUser: (ctx, { params, body }) => users.update(ctx, params.user_id, body),
      deleteUser: (ctx, { params }) => users.delete(ctx, params.user_id),
    }),
  };
}
