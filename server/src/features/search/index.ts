import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import { collisions } from './collisions.ts';
import * as contract from './contract.ts';
import { search } from './service.ts';

export function searchFeature(): Feature {
  return {
    name: 'search',
    endpoints: [
      bind(contract.searchSecrets, (ctx, { params, body }) => search(ctx, params.vault, body)),
      bind(contract.listCollisions, (ctx, { query }) => collisions(ctx, query)),
    ],
  };
}
