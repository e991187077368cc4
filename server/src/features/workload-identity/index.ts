import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import { login } from './login.ts';
import * as methods from './service.ts';
import { deleteMethodsOf } from './store.ts';

export { METHODS, type MethodRow, methodsOfConnections } from './store.ts';

export function workloadIdentityFeature(kernel: Kernel): Feature {
  return {
    name: 'workload-identity',
    endpoints: bindContract(contract, {
      createMethod: (ctx, { body }) => methods.create(ctx, body),
      listMethods: (ctx, { query }) => methods.list(ctx, query),
      readMethod: (ctx, { params }) => methods.read(ctx, params.method_id),
      updateMethod: (ctx, { params, body }) => methods.update(ctx, params.method_id, body),
      deleteMethod: (ctx, { params }) => methods.remove(ctx, params.method_id),
      login: (ctx, { body }) => login(ctx, { http: kernel.http, keySets: kernel.keySets }, body),
    }),
    removals: { connection: (tx, tenantId, { connection_no }) => deleteMethodsOf(tx, tenantId, connection_no) },
  };
}
