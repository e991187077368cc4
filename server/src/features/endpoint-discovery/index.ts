import { DAY_MS, HOUR_MS } from '../../kernel/platform/clock.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import { findUser } from '../users/index.ts';
import * as accounts from './accounts.ts';
import * as contract from './contract.ts';
import { list as listDrift } from './drift.ts';
import { notifyDriftJob } from './drift-notice.ts';
import { deleteFormerUsers, insertFormerUser } from './drift-store.ts';
import { report } from './ingest.ts';
import { deleteGone, deleteHostsOf } from './store.ts';

const GONE_KEPT_MS = 90 * DAY_MS;
/** Long enough to find the keys of somebody who left; nobody's address is stored for ever. */
const FORMER_KEPT_MS = 730 * DAY_MS;

export function endpointDiscoveryFeature(kernel: Kernel): Feature {
  return {
    name: 'endpoint-discovery',
    endpoints: bindContract(contract, {
      reportAccounts: (ctx, { body }) => report(ctx, body),
      listAccounts: (ctx, { query }) => accounts.list(ctx, query),
      readAccount: (ctx, { params }) => accounts.read(ctx, params.account_id),
      linkAccount: (ctx, { params, body }) => accounts.link(ctx, params.account_id, body.user),
      readStats: (ctx) => accounts.stats(ctx),
      listDrift: (ctx, { query }) => listDrift(ctx, query),
    }),
    removals: {
      cluster: deleteHostsOf,
      user: (tx, tenantId, userId) => storeFormerUser(kernel, tx, tenantId, userId),
    },
    jobs: [
      notifyDriftJob(kernel),
      {
        name: 'delete-gone-accounts',
        intervalMs: HOUR_MS,
        // Accounts come and go with hosts, so it is normal that many of them have been gone for long.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: async (signal, cutoff) => {
          const before = earlier(cutoff, GONE_KEPT_MS);
          while (!signal.aborted && (await kernel.database.transaction((tx) => deleteGone(tx, before))) > 0);
        },
      },
      {
        name: 'delete-former-users',
        intervalMs: DAY_MS,
        // All of them may have left at once, when a company closed a department.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: async (signal, cutoff) => {
          const before = earlier(cutoff, FORMER_KEPT_MS);
          while (!signal.aborted && (await kernel.database.transaction((tx) => deleteFormerUsers(tx, before))) > 0);
        },
      },
    ],
  };
}

/** A deleted user’s keys may still be on hosts, and are found by the e-mail address. */
async function storeFormerUser({ clock }: Kernel, tx: Tx, tenantId: string, userId: string): Promise<void> {
  const user = await findUser(tx, tenantId, userId);
  if (user === undefined) return;
  await insertFormerUser(tx, { tenant_id: tenantId, user_id: userId, email: user.email, left_at: clock.now() });
}
