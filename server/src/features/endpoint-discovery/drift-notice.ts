import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import type { KeepingJob } from '../../kernel/jobs/job-runner.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { emit } from '../webhooks/index.ts';
import { countDrift, type DriftCounts } from './drift.ts';
import { claimNotice, findNotice, tenantsWithHosts } from './drift-store.ts';
import type { DriftItem } from './schemas.ts';
import { endpointSettings } from './settings.ts';

const TENANTS_AT_ONCE = 100;
/** The body of a webhook is bounded, so an announcement has only the first items. */
const ITEMS_MAX = 50;

/** Announces drift once a day for each tenant, all of it in one event. */
export function notifyDriftJob(kernel: Pick<Kernel, 'clock' | 'config' | 'database'>): KeepingJob {
  return {
    name: 'notify-endpoint-drift',
    intervalMs: HOUR_MS,
    removes: 'nothing',
    async run(signal) {
      if (!kernel.config.of(endpointSettings).isDriftNotified) return;
      const { read } = kernel.database;
      for (let after = ''; !signal.aborted; ) {
        const tenants = await tenantsWithHosts(read, after, TENANTS_AT_ONCE);
        for (const tenantId of tenants) if (!signal.aborted) await notify(kernel, tenantId);
        const last = tenants.at(-1);
        if (last === undefined) return;
        after = last;
      }
    },
  };
}

async function notify(kernel: Pick<Kernel, 'clock' | 'database'>, tenantId: string): Promise<void> {
  const { database, clock } = kernel;
  const now = clock.now();
  const before = now - DAY_MS;
  const last = await findNotice(database.read, tenantId);
  if (last !== undefined && last.notified_at > before) return;
  const counts = await countDrift(database.forTenant(tenantId, 'bulk').read, tenantId, ITEMS_MAX);
  if (counts.total === 0) return;
  await database.transaction(async (tx) => {
    if (!(await claimNotice(tx, tenantId, now, before))) return;
    await emit(tx, tenantId, eventOf(counts, now), now);
  });
}

/** Ids and counts alone: names and comments are text from hosts, and would be shown wherever the webhook leads. */
function eventOf({ total, first, orphan_account, missing_key, former_employee_key }: DriftCounts, now: number) {
  return {
    event: 'endpoint.drift' as const,
    object: { total, orphan_account, missing_key, former_employee_key, items: first.map(idsOf) },
    summary: `Hosts differ from the members of vaults in ${total} places: ${orphan_account} accounts that nobody owns, ${missing_key} missing keys, ${former_employee_key} keys of people who left.`,
    dedupKey: `endpoint-drift-${Math.floor(now / DAY_MS)}`,
  };
}

function idsOf({ kind, account_id, cluster_id, host_id, user_id }: DriftItem) {
  return { kind, account_id, cluster_id, host_id, user_id };
}
