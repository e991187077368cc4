import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import * as discovery from './discovery.ts';
import { deleteStateOf as deleteGroupState } from './group-store.ts';
import * as groups from './groups.ts';
import { provisionedGroups, provisionerOfGroup } from './roles.ts';
import { ScimTokens } from './scheme.ts';
import * as tokens from './tokens.ts';
import { deleteStateOf as deleteUserState, isProvisioned, takeOverSuspension } from './user-store.ts';
import { ScimUsers } from './users.ts';

export { SCIM_GROUPS } from './group-store.ts';
export { SCIM_TOKENS } from './token-store.ts';
export { SCIM_USERS } from './user-store.ts';

export function scimFeature(kernel: Kernel, wiring: Wiring): Feature {
  const users = new ScimUsers(wiring.needs('revokeTokensOf'), wiring.removal('user'));
  const groupRemoved = wiring.removal('group');
  const resolver = new ScimTokens(kernel);
  return {
    name: 'scim',
    endpoints: bindContract(contract, {
      createScimToken: (ctx, { params, body }) => tokens.create(ctx, params.name, body),
      listScimTokens: (ctx, { params }) => tokens.list(ctx, params.name),
      rotateScimToken: (ctx, { params, body }) => tokens.rotate(ctx, params.name, params.token_id, body),
      revokeScimToken: (ctx, { params }) => tokens.revoke(ctx, params.name, params.token_id),
      listScimUsers: (ctx, { query }) => users.list(ctx, query),
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
      deleteScimGroup: (ctx, { params }) => groups.remove(ctx, groupRemoved, params.group_id),
      readServiceProviderConfig: (ctx) => discovery.serviceProviderConfig(ctx),
      listResourceTypes: (ctx) => discovery.resourceTypes(ctx),
      readResourceType: (ctx, { params }) => discovery.resourceType(ctx, params.id),
      listSchemas: (ctx) => discovery.schemas(ctx),
      readSchema: (ctx, { params }) => discovery.schema(ctx, params.id),
    }),
    provides: {
      opaqueTokenResolver: () => resolver,
      provisionedGroups,
      provisionerOfGroup,
      takeOverSuspension,
      isProvisioned,
    },
    removals: {
      user: deleteUserState,
      group: deleteGroupState,
      signOnProvider: tokens.revokeTokensOf,
    },
  };
}
