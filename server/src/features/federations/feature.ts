import { feature } from '../../kernel/feature/declaration.ts';
import { sharedCertificates } from '../certificates/index.ts';
import { connectionRemoved } from '../policies/index.ts';
import * as contract from './contract.ts';
import { exchange } from './exchange.ts';
import * as federations from './service.ts';
import { deleteFederationsOf, FEDERATIONS } from './store.ts';

export const federationsFeature = feature({
  name: 'federations',
  endpoints: contract,
  tables: { authenticated: [FEDERATIONS] },
  uses: ['keySets'],
  needs: { certificates: sharedCertificates },
  build(parts) {
    return {
      handlers: {
        createFederation: (ctx, { params, body }) => federations.create(ctx, params.connection, body),
        listFederations: (ctx, { params, query }) => federations.list(ctx, params.connection, query),
        readFederation: (ctx, { params }) => federations.read(ctx, params.connection, params.federation_id),
        updateFederation: (ctx, { params, body }) =>
          federations.update(
            ctx,
            parts.certificates,
            { connectionId: params.connection, federationId: params.federation_id },
            body,
          ),
        deleteFederation: (ctx, { params }) =>
          federations.remove(ctx, parts.certificates, params.connection, params.federation_id),
        exchangeToken: (ctx, { params, body }) => exchange(ctx, parts, params.connection, body),
      },
      removals: [
        connectionRemoved.by((tx, tenantId, { connection_no }) => deleteFederationsOf(tx, tenantId, connection_no)),
      ],
    };
  },
});
