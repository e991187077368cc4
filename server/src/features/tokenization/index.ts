import { HOUR_MS } from '../../kernel/clock.ts';
import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import { allowedOf } from '../../kernel/jobs/share.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { SECOND_LOOK_MS } from '../../kernel/time/clock-guard.ts';
import * as contract from './contract.ts';
import { detokenize, tokenize } from './service.ts';
import { countTokens, deleteExpired } from './store.ts';

export { purgeTokens } from './store.ts';

const FORGOTTEN_AT_ONCE = 1000;

export function tokenizationFeature(kernel: Kernel): Feature {
  const { database } = kernel;
  return {
    name: 'tokenization',
    endpoints: [
      bind(contract.tokenize, (ctx, { params, body }) => tokenize(ctx, params.vault, body)),
      bind(contract.detokenize, (ctx, { params, body }) => detokenize(ctx, params.vault, body.token)),
    ],
    jobs: [
      {
        name: 'forget-expired-tokenized-values',
        intervalMs: HOUR_MS,
        // Values stored together expire together, so a large share is normal: each run removes a part, and no operator approval is needed.
        removes: { secondLookMs: SECOND_LOOK_MS, share: null },
        async run(_, cutoff) {
          const rowsMax = allowedOf(await countTokens(database.read), FORGOTTEN_AT_ONCE);
          await database.transaction((tx) => deleteExpired(tx, cutoff, rowsMax));
        },
      },
    ],
  };
}
