import { feature } from '../../kernel/feature/declaration.ts';
import { vaultContentsRemoved } from '../vaults/index.ts';
import * as contract from './contract.ts';
import { readCheck, writeCheck } from './service.ts';
import { deleteCheck, PASSPHRASE_CHECKS } from './store.ts';

/** A sealed text by which the clients of a zero-knowledge vault recognize its passphrase before they seal a value. */
export const passphraseChecksFeature = feature({
  name: 'passphrase-checks',
  endpoints: contract,
  tables: { authenticated: [PASSPHRASE_CHECKS] },
  build() {
    return {
      handlers: {
        getPassphraseCheck: (ctx, { params }) => readCheck(ctx, params.vault),
        putPassphraseCheck: (ctx, { params, body }) => writeCheck(ctx, params.vault, body),
      },
      removals: [
        vaultContentsRemoved.by(async (tx, tenantId, vaultId) => {
          await deleteCheck(tx, tenantId, vaultId);
          return 0;
        }),
      ],
    };
  },
});
