import { feature } from '../../kernel/feature/declaration.ts';
import * as contract from './contract.ts';
import { list } from './service.ts';

/** Who could read what, by which right. It stores nothing. */
export const accessPathsFeature = feature({
  name: 'access-paths',
  endpoints: contract,
  build: () => ({
    handlers: { listAccessPaths: (ctx, { query }) => list(ctx, query) },
  }),
});
