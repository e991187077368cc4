import { feature } from '../../kernel/feature/declaration.ts';
import * as contract from './contract.ts';
import { aggregate } from './service.ts';

export const aggregateFeature = feature({
  name: 'aggregate',
  endpoints: contract,
  build: () => ({
    handlers: {
      aggregateSecrets: (ctx, { params, query }) => aggregate(ctx, params.vault, query),
    },
  }),
});
