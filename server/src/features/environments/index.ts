import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import { bindSecret, listBindings, unbindSecret } from './bindings.ts';
import { compose } from './composition.ts';
import * as contract from './contract.ts';
import * as environments from './service.ts';

export { BINDINGS, ENVIRONMENTS, forgetSecrets } from './store.ts';

export function environmentsFeature(): Feature {
  return {
    name: 'environments',
    endpoints: [
      bind(contract.listEnvironments, (ctx, { query }) => environments.list(ctx, query)),
      bind(contract.createEnvironment, (ctx, { body }) => environments.create(ctx, body)),
      bind(contract.readEnvironment, (ctx, { params }) => environments.read(ctx, params.environment_id)),
      bind(contract.updateEnvironment, (ctx, { params, body }) =>
        environments.update(ctx, params.environment_id, body),
      ),
      bind(contract.deleteEnvironment, (ctx, { params }) => environments.remove(ctx, params.environment_id)),
      bind(contract.listBindings, (ctx, { params, query }) => listBindings(ctx, params.environment_id, query)),
      bind(contract.bindSecret, (ctx, { params, body }) => bindSecret(ctx, params.environment_id, body)),
      bind(contract.unbindSecret, (ctx, { params }) => unbindSecret(ctx, params.environment_id, params.secret_id)),
      bind(contract.composeEnvironment, (ctx, { params, query }) => compose(ctx, params.environment_id, query)),
    ],
  };
}
