import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import * as policies from './service.ts';
import { simulate } from './simulation.ts';
import { deleteAttachmentsOf } from './store.ts';
import { whoCan } from './who-can.ts';

export { policiesAttachedTo } from './attached-policies.ts';
export { policiesOfConnection, policiesOfUser } from './service.ts';
export { policyToSimulate } from './simulation.ts';
export { ATTACHMENTS, POLICIES } from './store.ts';
export type { RightsOfSome } from './who-can.ts';

export function policiesFeature(_: Kernel, wiring: Wiring): Feature {
  const ports = wiring.needs(
    'clientIdOfConnection',
    'allPoliciesOfConnection',
    'limitsOfConnection',
    'rightsOfEverybody',
    'secondFactorSince',
    'resourcesOfConnection',
  );
  return {
    name: 'policies',
    endpoints: bindContract(contract, {
      createPolicy: (ctx, { body }) => policies.create(ctx, body),
      listPolicies: (ctx, { query }) => policies.list(ctx, query),
      readPolicy: (ctx, { params }) => policies.read(ctx, params.name),
      updatePolicy: (ctx, { params, body }) => policies.update(ctx, params.name, body),
      deletePolicy: (ctx, { params }) => policies.remove(ctx, params.name),
      attachPolicy: (ctx, { params, body }) => policies.attach(ctx, ports, params.name, body.principal),
      detachPolicy: (ctx, { params, body }) => policies.detach(ctx, ports, params.name, body.principal),
      simulatePolicy: (ctx, { body }) => simulate(ctx, ports, body),
      whoCan: (ctx, { body }) => whoCan(ctx, ports, body),
    }),
    provides: {
      rightsOfGroup: policies.rightsOfGroup,
      vaultsOfGroup: policies.vaultsOfGroup,
      policiesTouchingVault: policies.policiesTouching,
    },
    removals: {
      user: (tx, tenantId, userId) => deleteAttachmentsOf(tx, tenantId, 'user', userId),
      group: (tx, tenantId, groupId) => deleteAttachmentsOf(tx, tenantId, 'group', groupId),
      connection: (tx, tenantId, { client_id }) => deleteAttachmentsOf(tx, tenantId, 'app_connection', client_id),
    },
  };
}
