import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import * as contract from './contract.ts';
import { login, type Outside } from './login.ts';
import * as methods from './service.ts';

export type { Outside } from './login.ts';
export { deleteMethodsOf, METHODS } from './store.ts';

export function workloadIdentityFeature(outside: Outside): Feature {
  return {
    name: 'workload-identity',
    endpoints: [
      bind(contract.createMethod, (ctx, { body }) => methods.create(ctx, body)),
      bind(contract.listMethods, (ctx, { query }) => methods.list(ctx, query)),
      bind(contract.readMethod, (ctx, { params }) => methods.read(ctx, params.method_id)),
      bind(contract.updateMethod, (ctx, { params, body }) => methods.update(ctx, params.method_id, body)),
      bind(contract.deleteMethod, (ctx, { params }) => methods.remove(ctx, params.method_id)),
      bind(contract.login, (ctx, { body }) => login(ctx, outside, body)),
    ],
  };
}
