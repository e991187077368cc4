import { feature } from '../../kernel/feature/declaration.ts';
import { groupRemoved, refuseCostlyPolicies, rightsOfGroup, vaultsOfGroup } from '../groups/index.ts';
import { userRemoved } from '../users/index.ts';
import { policiesTouchingVault } from '../vaults/index.ts';
import * as contract from './contract.ts';
import { connectionRemoved, policyNeeds } from './links.ts';
import { explainAccess } from './own-rights.ts';
import { refuseCostlyHolder } from './policy-cost.ts';
import * as policies from './service.ts';
import { simulate } from './simulation.ts';
import { ATTACHMENTS, deleteAttachmentsOf, FORMER_VERSIONS, POLICIES } from './store.ts';
import { listVersions } from './versions.ts';
import { whoCan } from './who-can.ts';

export const policiesFeature = feature({
  name: 'policies',
  endpoints: contract,
  tables: { authenticated: [POLICIES, ATTACHMENTS, FORMER_VERSIONS] },
  ids: ['policy'],
  needs: policyNeeds,
  build: (parts) => ({
    handlers: {
      createPolicy: (ctx, { body }) => policies.create(ctx, body),
      listPolicies: (ctx, { query }) => policies.list(ctx, query),
      readPolicy: (ctx, { params }) => policies.read(ctx, params.name),
      listPolicyVersions: (ctx, { params, query }) => listVersions(ctx, params.name, query),
      updatePolicy: (ctx, { params, body }) => policies.update(ctx, params.name, body),
      deletePolicy: (ctx, { params }) => policies.remove(ctx, params.name),
      attachPolicy: (ctx, { params, body }) => policies.attach(ctx, parts, params.name, body.principal),
      detachPolicy: (ctx, { params, body }) => policies.detach(ctx, parts, params.name, body.principal),
      simulatePolicy: (ctx, { body }) => simulate(ctx, parts, body),
      whoCan: (ctx, { body }) => whoCan(ctx, parts, body),
      explainAccess: (ctx, { body }) => explainAccess(ctx, parts, body),
    },
    provides: [
      rightsOfGroup.by(policies.rightsOfGroup),
      vaultsOfGroup.by(policies.vaultsOfGroup),
      refuseCostlyPolicies.by((tx, tenantId, id) =>
        refuseCostlyHolder(tx, tenantId, { kind: 'user', id }, '/body/user_id'),
      ),
      policiesTouchingVault.by(policies.policiesTouching),
    ],
    removals: [
      userRemoved.by((tx, tenantId, userId) => deleteAttachmentsOf(tx, tenantId, 'user', userId)),
      groupRemoved.by((tx, tenantId, groupId) => deleteAttachmentsOf(tx, tenantId, 'group', groupId)),
      connectionRemoved.by((tx, tenantId, { client_id }) =>
        deleteAttachmentsOf(tx, tenantId, 'app_connection', client_id),
      ),
    ],
  }),
});
