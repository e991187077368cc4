import { feature } from '../../kernel/feature/declaration.ts';
import { secretsRemoved } from '../secrets/index.ts';
import { bindSecret, listBindings, unbindSecret } from './bindings.ts';
import { compose } from './composition.ts';
import * as contract from './contract.ts';
import * as environments from './service.ts';
import { BINDINGS, deleteBindingsOfSecrets, ENVIRONMENTS } from './store.ts';

export const environmentsFeature = feature({
  name: 'environments',
  endpoints: contract,
  tables: { authenticated: [ENVIRONMENTS, BINDINGS] },
  build: () => ({
    handlers: {
      listEnvironments: (ctx, { query }) => environments.list(ctx, query),
      createEnvironment: (ctx, { body }) => environments.create(ctx, body),
      readEnvironment: (ctx, { params }) => environments.read(ctx, params.environment_id),
      updateEnvironment: (ctx, { params, body }) => environments.update(ctx, params.environment_id, body),
      deleteEnvironment: (ctx, { params }) => environments.remove(ctx, params.environment_id),
      listBindings: (ctx, { params, query }) => listBindings(ctx, params.environment_id, query),
      bindSecret: (ctx, { params, body }) => bindSecret(ctx, params.environment_id, body),
      unbindSecret: (ctx, { params }) => unbindSecret(ctx, params.environment_id, params.secret_id),
      composeEnvironment: (ctx, { params, query }) => compose(ctx, params.environment_id, query),
    },
    removals: [secretsRemoved.by(deleteBindingsOfSecrets)],
  }),
});
