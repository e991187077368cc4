import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import * as contract from './contract.ts';
import { type ExchangeParts, exchange } from './exchange.ts';
import * as federations from './service.ts';

export { deleteFederationsOf, FEDERATIONS } from './store.ts';

export function federationsFeature(parts: ExchangeParts): Feature {
  return {
    name: 'federations',
    endpoints: [
      bind(contract.createFederation, (ctx, { params, body }) => federations.create(ctx, params.connection, body)),
      bind(contract.listFederations, (ctx, { params, query }) => federations.list(ctx, params.connection, query)),
      bind(contract.readFederation, (ctx, { params }) =>
        federations.read(ctx, params.connection, params.federation_id),
      ),
      bind(contract.updateFederation, (ctx, { params, body }) =>
        federations.update(ctx, parts.certificates, params.connection, params.federation_id, body),
      ),
      bind(contract.deleteFederation, (ctx, { params }) =>
        federations.remove(ctx, parts.certificates, params.connection, params.federation_id),
      ),
      bind(contract.exchangeToken, (ctx, { params, body }) => exchange(ctx, parts, params.connection, body)),
    ],
  };
}
