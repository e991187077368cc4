import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import * as contract from './contract.ts';
import * as tenants from './service.ts';

export { type NewTenant, prepareTenant } from './service.ts';

export function tenantsFeature(): Feature {
  return {
    name: 'tenants',
    endpoints: [
      bind(contract.createTenant, (ctx, { body }) => tenants.create(ctx, body)),
      bind(contract.listTenants, (ctx, { query }) => tenants.list(ctx, query)),
      bind(contract.readTenant, (ctx, { params }) => tenants.read(ctx, params.tenant_id)),
      bind(contract.updateTenant, (ctx, { params, body }) => tenants.update(ctx, params.tenant_id, body)),
      bind(contract.readSettings, (ctx) => tenants.readSettings(ctx)),
      bind(contract.updateSettings, (ctx, { body }) => tenants.updateSettings(ctx, body)),
    ],
  };
}
