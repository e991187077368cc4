import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import * as contract from './contract.ts';
import { aggregate } from './service.ts';

export function aggregateFeature(): Feature {
  return {
    name: 'aggregate',
    endpoints: [bind(contract.aggregateSecrets, (ctx, { params, query }) => aggregate(ctx, params.vault, query))],
  };
}
