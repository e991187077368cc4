import { readFileSync } from 'node:fs';
import { removeRecorded } from '../../kernel/audit/log/removal.ts';
import { HOUR_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { userRemoved } from '../users/index.ts';
import * as contract from './contract.ts';
import { SHARE_PAGE, SHARE_PAGE_HEADERS } from './page.ts';
import { create, list, open, revoke } from './service.ts';
import { deleteSharesOf, expiredShares, SHARES } from './store.ts';

/** Values that are handed to somebody by a link. What is stored was sealed by the client, under a key that only the link has. */
export const sharesFeature = feature({
  name: 'shares',
  endpoints: contract,
  tables: { authenticated: [SHARES] },
  ids: ['share'],
  uses: ['audit', 'clock', 'database', 'regionGate'],
  build: (parts) => ({
    handlers: {
      createShare: (ctx, { body }) => create(ctx, body),
      listShares: (ctx, { query }) => list(ctx, query),
      revokeShare: (ctx, { params }) => revoke(ctx, params.share_id),
      openShare: (ctx, { params }) => open(ctx, params.share_id),
      getSharePage: async (ctx) => {
        for (const [name, value] of Object.entries(SHARE_PAGE_HEADERS)) ctx.setHeader(name, value);
        return SHARE_PAGE;
      },
      getShareScript: async () => asset('script.js'),
      getShareStyle: async () => asset('style.css'),
    },
    removals: [userRemoved.by((tx, tenantId, userId) => deleteSharesOf(tx, tenantId, userId))],
    jobs: [
      {
        name: 'delete-expired-shares',
        intervalMs: HOUR_MS,
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (signal, cutoff) => {
          const removal = { job: 'delete-expired-shares', action: 'shares:purge', table: SHARES };
          return removeRecorded(parts, { ...removal, which: expiredShares(cutoff) }, signal);
        },
      },
    ],
  }),
});

function asset(name: string): string {
  return readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');
}
