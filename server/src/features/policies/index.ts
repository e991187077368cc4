import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import * as contract from './contract.ts';
import * as policies from './service.ts';

export { policiesOfConnection, policiesOfUser, policiesTouching, touchedBy } from './service.ts';
export { ATTACHMENTS, forgetPrincipal, POLICIES, policyNamesOf } from './store.ts';

export function policiesFeature(ports: policies.PolicyPorts): Feature {
  return {
    name: 'policies',
    endpoints: [
      bind(contract.createPolicy, (ctx, { body }) => policies.create(ctx, body)),
      bind(contract.listPolicies, (ctx, { query }) => policies.list(ctx, query)),
      bind(contract.readPolicy, (ctx, { params }) => policies.read(ctx, params.name)),
      bind(contract.updatePolicy, (ctx, { params, body }) => policies.update(ctx, params.name, body)),
      bind(contract.deletePolicy, (ctx, { params }) => policies.remove(ctx, params.name)),
      bind(contract.attachPolicy, (ctx, { params, body }) => policies.attach(ctx, ports, params.name, body.principal)),
      bind(contract.detachPolicy, (ctx, { params, body }) => policies.detach(ctx, ports, params.name, body.principal)),
      bind(contract.simulatePolicy, (ctx, { body }) => policies.simulate(ctx, ports, body)),
    ],
  };
}
