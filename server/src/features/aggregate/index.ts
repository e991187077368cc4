import type { Feature } from '../../kernel/platform/feature.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import { aggregate } from './service.ts';

export function aggregateFeature(): Feature {
  return {
    name: 'aggregate',
    endpoints: bindContract(contract, {
      aggregateSecrets: (ctx, { params, query }) => aggregate(ctx, params.vault, query),
    }),
  };
}
