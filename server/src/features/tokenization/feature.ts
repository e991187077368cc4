import { HOUR_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { allowedOf } from '../../kernel/jobs/share.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { vaultContentsRemoved } from '../vaults/index.ts';
import * as contract from './contract.ts';
import { detokenize, tokenize } from './service.ts';
import { countTokens, deleteExpired, purgeTokens } from './store.ts';

const FORGOTTEN_AT_ONCE = 1000;

export const tokenizationFeature = feature({
  name: 'tokenization',
  endpoints: contract,
  tables: { plain: { tokenized_values: 'sealed, bound to their vault, token and end' } },
  ids: ['tok'],
  uses: ['database'],
  build(parts) {
    const { database } = parts;
    return {
      handlers: {
        tokenize: (ctx, { params, body }) => tokenize(ctx, params.vault, body),
        detokenize: (ctx, { params, body }) => detokenize(ctx, params.vault, body.token),
      },
      removals: [
        vaultContentsRemoved.by(async (tx, tenantId, vaultId) => {
          await purgeTokens(tx, tenantId, vaultId);
          return 0;
        }),
      ],
      jobs: [
        {
          name: 'forget-expired-tokenized-values',
          intervalMs: HOUR_MS,
          // Values stored together expire together, so a large share is normal: each run removes a part, and no operator approval is needed.
          removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
          async run(_, cutoff) {
            const rowsMax = allowedOf(await countTokens(database.read), FORGOTTEN_AT_ONCE);
            await database.transaction((tx) => deleteExpired(tx, cutoff, rowsMax));
          },
        },
      ],
    };
  },
});
