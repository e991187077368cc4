import { feature } from '../../kernel/feature/declaration.ts';
import { collisions } from './collisions.ts';
import * as contract from './contract.ts';
import { listDue } from './due.ts';
import { findKnown } from './known-values.ts';
import { findByPath } from './path-search.ts';
import { search } from './service.ts';

export const searchFeature = feature({
  name: 'search',
  endpoints: contract,
  build: () => ({
    handlers: {
      searchSecrets: (ctx, { params, body }) => search(ctx, params.vault, body),
      listCollisions: (ctx, { query }) => collisions(ctx, query),
      findSecrets: (ctx, { query }) => findByPath(ctx, query),
      listDueSecrets: (ctx, { query }) => listDue(ctx, query),
      findKnownValues: (ctx, { body }) => findKnown(ctx, body),
    },
  }),
});
