import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import { clusterRemoved } from '../clusters/index.ts';
import { userRemoved } from '../users/index.ts';
import { findUser } from '../users/storage/index.ts';
import * as accounts from './accounts.ts';
import * as contract from './contract.ts';
import { list as listDrift } from './drift.ts';
import { notifyDriftJob } from './drift-notice.ts';
import { deleteFormerUsers, insertFormerUser } from './drift-store.ts';
import { report } from './ingest.ts';
import { endpointSettings } from './settings.ts';
import { deleteGone, deleteHostsOf } from './store.ts';

const GONE_RETENTION_MS = 90 * DAY_MS;
/** Long enough to find the keys of somebody who left; nobody's address is stored for ever. */
const FORMER_RETENTION_MS = 730 * DAY_MS;

export const endpointDiscoveryFeature = feature({
  name: 'endpoint-discovery',
  endpoints: contract,
  tables: {
    plain: {
      endpoint_hosts:
        'what agents reported of hosts, which whoever controls a host could have written; decides nothing',
      endpoint_accounts: 'what agents reported, and who owns an account; it is listed, and decides nothing',
      endpoint_keys: 'fingerprints of keys that agents reported; decides nothing',
      former_users: 'finds keys of people who left; a forged one lists a key that is nobody’s',
      drift_notices: 'says when drift was last announced; a forged one announces it earlier or later',
    },
  },
  ids: ['acct'],
  settings: [endpointSettings],
  uses: ['clock', 'config', 'database'],
  build: (parts) => ({
    handlers: {
      reportAccounts: (ctx, { body }) => report(ctx, body),
      listAccounts: (ctx, { query }) => accounts.list(ctx, query),
      readAccount: (ctx, { params }) => accounts.read(ctx, params.account_id),
      linkAccount: (ctx, { params, body }) => accounts.link(ctx, params.account_id, body.user),
      readStats: (ctx) => accounts.stats(ctx),
      listDrift: (ctx, { query }) => listDrift(ctx, query),
    },
    removals: [
      clusterRemoved.by(deleteHostsOf),
      userRemoved.by((tx, tenantId, userId) => storeFormerUser(parts, tx, tenantId, userId)),
    ],
    jobs: [
      notifyDriftJob(parts),
      {
        name: 'delete-gone-accounts',
        intervalMs: HOUR_MS,
        // Accounts come and go with hosts, so it is normal that many of them have been gone for long.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: async (signal, cutoff) => {
          const before = earlier(cutoff, GONE_RETENTION_MS);
          while (!signal.aborted && (await parts.database.transaction((tx) => deleteGone(tx, before))) > 0);
        },
      },
      {
        name: 'delete-former-users',
        intervalMs: DAY_MS,
        // All of them may have left at once, when a company closed a department.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: async (signal, cutoff) => {
          const before = earlier(cutoff, FORMER_RETENTION_MS);
          while (!signal.aborted && (await parts.database.transaction((tx) => deleteFormerUsers(tx, before))) > 0);
        },
      },
    ],
  }),
});

/** A deleted user’s keys may still be on hosts, and are found by the e-mail address. */
async function storeFormerUser(
  { clock }: Pick<Kernel, 'clock'>,
  tx: Tx,
  tenantId: string,
  userId: string,
): Promise<void> {
  const user = await findUser(tx, tenantId, userId);
  if (user === undefined) return;
  await insertFormerUser(tx, { tenant_id: tenantId, user_id: userId, email: user.email, left_at: clock.now() });
}
