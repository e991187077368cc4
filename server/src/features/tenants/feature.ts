import { feature } from '../../kernel/feature/declaration.ts';
import * as contract from './contract.ts';
import { tenantNeeds } from './links.ts';
import * as tenants from './service.ts';

export const tenantsFeature = feature({
  name: 'tenants',
  endpoints: contract,
  ids: ['tenant'],
  needs: tenantNeeds,
  build: (parts) => ({
    handlers: {
      createTenant: (ctx, { body }) => tenants.create(ctx, parts, body),
      listTenants: (ctx, { query }) => tenants.list(ctx, query),
      readTenant: (ctx, { params }) => tenants.read(ctx, params.tenant_id),
      updateTenant: (ctx, { params, body }) => tenants.update(ctx, params.tenant_id, body),
      readSettings: (ctx) => tenants.readSettings(ctx),
      updateSettings: (ctx, { body }) => tenants.updateSettings(ctx, body),
    },
  }),
});
