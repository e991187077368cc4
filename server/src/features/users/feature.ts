import { feature } from '../../kernel/feature/declaration.ts';
import * as contract from './contract.ts';
import { INVITATIONS } from './invitations/invitation-store.ts';
import { userNeeds, userRemoved } from './links.ts';
import { Users } from './service.ts';
import { USERS } from './storage/user-store.ts';

export const usersFeature = feature({
  name: 'users',
  endpoints: contract,
  tables: { authenticated: [USERS, INVITATIONS] },
  ids: ['user'],
  needs: userNeeds,
  removes: { userRemoved },
  build(parts) {
    const users = new Users(parts, parts.userRemoved);
    return {
      handlers: {
        createUser: (ctx, { body }) => users.create(ctx, body),
        inviteUser: (ctx, { params }) => users.invite(ctx, params.user_id),
        listUsers: (ctx, { query }) => users.list(ctx, query),
        updateMe: (ctx, { body }) => users.rename(ctx, body.name),
        readUser: (ctx, { params }) => users.read(ctx, params.user_id),
        updateUser: (ctx, { params, body }) => users.update(ctx, params.user_id, body),
        deleteUser: (ctx, { params }) => users.delete(ctx, params.user_id),
      },
    };
  },
});
