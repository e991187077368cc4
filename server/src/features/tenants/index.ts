import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import * as tenants from './service.ts';

export { type CreationPorts, insertPrepared, type NewTenant, prepareTenant } from './service.ts';
export { lockTenant, updateTenant } from './store.ts';

export function tenantsFeature(_: Kernel, wiring: Wiring): Feature {
  const ports = wiring.needs('assignNewTenant', 'claimSubscriptions');
  return {
    name: 'tenants',
    endpoints: bindContract(contract, {
      createTenant: (ctx, { body }) => tenants.create(ctx, ports, body),
      listTenants: (ctx, { query }) => tenants.list(ctx, query),
      readTenant: (ctx, { params }) => tenants.read(ctx, params.tenant_id),
      updateTenant: (ctx, { params, body }) => tenants.update(ctx, params.tenant_id, body),
      readSettings: (ctx) => tenants.readSettings(ctx),
      updateSettings: (ctx, { body }) => tenants.updateSettings(ctx, body),
    }),
  };
}
