import { feature } from '../../kernel/feature/declaration.ts';
import { groupRemoved, provisionerOfGroup } from '../groups/index.ts';
import { provisionedGroups, signOnProviderRemoved } from '../sign-on/index.ts';
import { opaqueTokenResolver } from '../tokens/index.ts';
import { isProvisioned, takeOverSuspension, userRemoved } from '../users/index.ts';
import * as contract from './contract.ts';
import * as discovery from './discovery.ts';
import { deleteStateOf as deleteGroupState, SCIM_GROUPS } from './group-store.ts';
import * as groups from './groups.ts';
import { scimNeeds } from './links.ts';
import * as roles from './roles.ts';
import { ScimTokens } from './scheme.ts';
import { queryOf, search } from './search.ts';
import { SCIM_TOKENS } from './token-store.ts';
import * as tokens from './tokens.ts';
import * as userState from './user-store.ts';
import { SCIM_USERS } from './user-store.ts';
import { ScimUsers } from './users.ts';

export const scimFeature = feature({
  name: 'scim',
  endpoints: contract,
  tables: { authenticated: [SCIM_TOKENS, SCIM_USERS, SCIM_GROUPS] },
  ids: ['scim'],
  uses: ['clock'],
  needs: scimNeeds,
  removes: { groupRemoved, userRemoved },
  build(parts) {
    const users = new ScimUsers(parts, parts.userRemoved);
    const resolver = new ScimTokens(parts);
    return {
      handlers: {
        createScimToken: (ctx, { params, body }) => tokens.create(ctx, params.name, body),
        listScimTokens: (ctx, { params }) => tokens.list(ctx, params.name),
        rotateScimToken: (ctx, { params, body }) => tokens.rotate(ctx, params.name, params.token_id, body),
        revokeScimToken: (ctx, { params }) => tokens.revoke(ctx, params.name, params.token_id),
        listScimUsers: (ctx, { query }) => users.list(ctx, query),
        searchScim: (ctx, { body }) => search(ctx, users, body),
        searchScimUsers: (ctx, { body }) => users.list(ctx, queryOf(body)),
        searchScimGroups: (ctx, { body }) => groups.list(ctx, queryOf(body)),
        createScimUser: (ctx, { body }) => users.create(ctx, body),
        readScimUser: (ctx, { params, query }) => users.read(ctx, params.user_id, query),
        replaceScimUser: (ctx, { params, body }) => users.replace(ctx, params.user_id, body),
        updateScimUser: (ctx, { params, body }) => users.update(ctx, params.user_id, body),
        deleteScimUser: (ctx, { params }) => users.delete(ctx, params.user_id),
        listScimGroups: (ctx, { query }) => groups.list(ctx, query),
        createScimGroup: (ctx, { body }) => groups.create(ctx, body),
        readScimGroup: (ctx, { params, query }) => groups.read(ctx, params.group_id, query),
        replaceScimGroup: (ctx, { params, body }) => groups.replace(ctx, params.group_id, body),
        updateScimGroup: (ctx, { params, body }) => groups.update(ctx, params.group_id, body),
        deleteScimGroup: (ctx, { params }) => groups.remove(ctx, parts.groupRemoved, params.group_id),
        readServiceProviderConfig: (ctx) => discovery.serviceProviderConfig(ctx),
        listResourceTypes: (ctx) => discovery.resourceTypes(ctx),
        readResourceType: (ctx, { params }) => discovery.resourceType(ctx, params.id),
        listSchemas: (ctx) => discovery.schemas(ctx),
        readSchema: (ctx, { params }) => discovery.schema(ctx, params.id),
      },
      provides: [
        opaqueTokenResolver.by(() => resolver),
        provisionedGroups.by(roles.provisionedGroups),
        provisionerOfGroup.by(roles.provisionerOfGroup),
        takeOverSuspension.by(userState.takeOverSuspension),
        isProvisioned.by(userState.isProvisioned),
      ],
      removals: [
        userRemoved.by(userState.deleteStateOf),
        groupRemoved.by(deleteGroupState),
        signOnProviderRemoved.by(tokens.revokeTokensOf),
      ],
    };
  },
});
