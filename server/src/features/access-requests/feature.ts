import { MINUTE_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import * as contract from './contract.ts';
import { markEnded } from './ending.ts';
import { end, list, request } from './service.ts';

/** Access to vaults for a time. The rows belong to the vaults, whose memberships they extend. */
export const accessRequestsFeature = feature({
  name: 'access-requests',
  endpoints: contract,
  ids: ['access'],
  uses: ['audit', 'clock', 'database'],
  build: (parts) => ({
    handlers: {
      requestAccess: (ctx, { body }) => request(ctx, body),
      listAccess: (ctx, { query }) => list(ctx, query),
      endAccess: (ctx, { params }) => end(ctx, params.access_id),
    },
    jobs: [
      {
        name: 'end-timed-access',
        intervalMs: MINUTE_MS,
        // It deletes nothing, and what it marks gives no rights any more, so one check is enough. Any number may end together.
        removes: { secondCheckMs: 0, share: null },
        run: (signal, cutoff) => markEnded(parts, cutoff, signal),
      },
    ],
  }),
});
