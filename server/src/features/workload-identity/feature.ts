import { feature } from '../../kernel/feature/declaration.ts';
import { connectionRemoved } from '../policies/index.ts';
import * as contract from './contract.ts';
import { login } from './login.ts';
import * as methods from './service.ts';
import { deleteMethodsOf, METHODS } from './store.ts';

export const workloadIdentityFeature = feature({
  name: 'workload-identity',
  endpoints: contract,
  tables: { authenticated: [METHODS] },
  uses: ['http', 'keySets'],
  build: (parts) => ({
    handlers: {
      createMethod: (ctx, { body }) => methods.create(ctx, body),
      listMethods: (ctx, { query }) => methods.list(ctx, query),
      readMethod: (ctx, { params }) => methods.read(ctx, params.method_id),
      updateMethod: (ctx, { params, body }) => methods.update(ctx, params.method_id, body),
      deleteMethod: (ctx, { params }) => methods.remove(ctx, params.method_id),
      login: (ctx, { body }) => login(ctx, { http: parts.http, keySets: parts.keySets }, body),
    },
    removals: [connectionRemoved.by((tx, tenantId, { connection_no }) => deleteMethodsOf(tx, tenantId, connection_no))],
  }),
});
