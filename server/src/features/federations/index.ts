import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import { certificatesOf } from '../certificates/index.ts';
import * as contract from './contract.ts';
import { exchange } from './exchange.ts';
import * as federations from './service.ts';
import { deleteFederationsOf } from './store.ts';

export { enabledFederations, FEDERATIONS, type FederationRow } from './store.ts';

export function federationsFeature(kernel: Kernel): Feature {
  const parts = { certificates: certificatesOf(kernel), keySets: kernel.keySets };
  return {
    name: 'federations',
    endpoints: bindContract(contract, {
      createFederation: (ctx, { params, body }) => federations.create(ctx, params.connection, body),
      listFederations: (ctx, { params, query }) => federations.list(ctx, params.connection, query),
      readFederation: (ctx, { params }) => federations.read(ctx, params.connection, params.federation_id),
      updateFederation: (ctx, { params, body }) =>
        federations.update(ctx, parts.certificates, params.connection, params.federation_id, body),
      deleteFederation: (ctx, { params }) =>
        federations.remove(ctx, parts.certificates, params.connection, params.federation_id),
      exchangeToken: (ctx, { params, body }) => exchange(ctx, parts, params.connection, body),
    }),
    removals: { connection: (tx, tenantId, { connection_no }) => deleteFederationsOf(tx, tenantId, connection_no) },
  };
}
