import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import * as contract from './contract.ts';
import { type UserObservers, Users } from './service.ts';

export { INVITATION_TOKEN } from './invitation.ts';
export { deleteInvitation, findInvitation, INVITATIONS, lockInvitation } from './invitation-store.ts';
export { insertNew, lockChangeable, newUser } from './service.ts';
export {
  countActiveAdmins,
  findActiveUsers,
  findUser,
  findUserByEmail,
  findUserByIdOrEmail,
  listActiveAdmins,
  lockUser,
  USERS,
  type UserRow,
  updateUser,
} from './store.ts';

export function usersFeature(observers: UserObservers): Feature {
  const users = new Users(observers);
  return {
    name: 'users',
    endpoints: [
      bind(contract.createUser, (ctx, { body }) => users.create(ctx, body)),
      bind(contract.inviteUser, (ctx, { params }) => users.invite(ctx, params.user_id)),
      bind(contract.listUsers, (ctx, { query }) => users.list(ctx, query)),
      bind(contract.readUser, (ctx, { params }) => users.read(ctx, params.user_id)),
      bind(contract.updateUser, (ctx, { params, body }) => users.update(ctx, params.user_id, body)),
      bind(contract.deleteUser, (ctx, { params }) => users.delete(ctx, params.user_id)),
    ],
  };
}
