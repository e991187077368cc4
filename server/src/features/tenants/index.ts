import type { Feature } from '../../kernel/platform/feature.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import * as tenants from './service.ts';

export { type NewTenant, prepareTenant } from './service.ts';

export function tenantsFeature(): Feature {
  return {
    name: 'tenants',
    endpoints: bindContract(contract, {
      createTenant: (ctx, { body }) => tenants.create(ctx, body),
      listTenants: (ctx, { query }) => tenants.list(ctx, query),
      readTenant: (ctx, { params }) => tenants.read(ctx, params.tenant_id),
      updateTenant: (ctx, { params, body }) => tenants.update(ctx, params.tenant_id, body),
      readSettings: (ctx) => tenants.readSettings(ctx),
      updateSettings: (ctx, { body }) => tenants.updateSettings(ctx, body),
    }),
  };
}
