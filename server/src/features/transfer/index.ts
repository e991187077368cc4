import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import * as contract from './contract.ts';
import { exportSecrets } from './export.ts';
import { importSecrets } from './import.ts';

export function transferFeature(): Feature {
  return {
    name: 'transfer',
    endpoints: [
      bind(contract.importSecrets, (ctx, { params, body }) => importSecrets(ctx, params.vault, body)),
      bind(contract.exportSecrets, (ctx, { params, query }) => exportSecrets(ctx, params.vault, query)),
    ],
  };
}
