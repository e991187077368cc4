import { HOUR_MS } from '../../kernel/clock.ts';
import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import * as contract from './contract.ts';
import { detokenize, tokenize } from './service.ts';
import { deleteExpired } from './store.ts';

export { TOKENIZATION_ENDPOINTS } from './contract.ts';
export { purgeTokens } from './store.ts';

export function tokenizationFeature(kernel: Kernel): Feature {
  const forgetExpired = () => kernel.database.transaction((tx) => deleteExpired(tx, kernel.clock.now()));
  return {
    name: 'tokenization',
    endpoints: [
      bind(contract.tokenize, (ctx, { params, body }) => tokenize(ctx, params.vault, body)),
      bind(contract.detokenize, (ctx, { params, body }) => detokenize(ctx, params.vault, body.token)),
    ],
    jobs: [{ name: 'forget-expired-tokenized-values', intervalMs: HOUR_MS, run: forgetExpired }],
  };
}
