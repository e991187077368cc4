import { feature } from '../../kernel/feature/declaration.ts';
import * as contract from './contract.ts';
import { exportSecrets } from './export.ts';
import { importSecrets } from './import.ts';

export const transferFeature = feature({
  name: 'transfer',
  endpoints: contract,
  build: () => ({
    handlers: {
      importSecrets: (ctx, { params, body }) => importSecrets(ctx, params.vault, body),
      exportSecrets: (ctx, { params, query }) => exportSecrets(ctx, params.vault, query),
    },
  }),
});
