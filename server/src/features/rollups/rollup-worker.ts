import { DAY_MS, MINUTE_MS } from '../../kernel/base/clock.ts';
import { DueWorker } from '../../kernel/jobs/due-work.ts';
import type { Counting } from './counting.ts';
import type { RollupKernel } from './links.ts';
import * as store from './store.ts';

/** How long a tenant belongs to a node; much longer than its steps take. */
const LEASE_MS = 5 * MINUTE_MS;
/** Entries of a minute are counted together, so that a busy log does not cause a commit for each. */
const INTERVAL_MS = MINUTE_MS;
/** Steps before the next tenant has its turn. A step has about 2,000 entries. */
const STEPS_PER_TURN = 8;
const AT_ONCE = 2;

/** Counts the logs of all tenants, each on one node at a time, in turn. */
export function rollupWorker(kernel: RollupKernel, counting: Counting): DueWorker<store.ProgressRow> {
  const { database, clock, nodeId, log, activity } = kernel;
  return new DueWorker<store.ProgressRow>(
    {
      isServed: (row) => kernel.regionGate.isServedHere(row.tenant_id),
      name: 'audit logs to count',
      find: (limit, except) => store.dueTenants(database.read, clock.now(), LEASE_MS + DAY_MS, { limit, except }),
      take: async (row) => {
        const known = await store.findProgress(database.read, row.tenant_id);
        const current = known ?? (await counting.begin(row.tenant_id));
        if (current.lease_until !== row.lease_until) return null;
        const lease = { lease_owner: nodeId, lease_until: clock.now() + LEASE_MS };
        const own = database.forTenant(row.tenant_id, 'bulk');
        return (await own.transaction((tx) => store.takeLease(tx, current, lease))) ? { ...current, ...lease } : null;
      },
      work: async ({ tenant_id }, signal) => {
        const isDone = await counting.advance(tenant_id, signal, STEPS_PER_TURN);
        const dueAt = clock.now() + (isDone ? INTERVAL_MS : 0);
        const own = database.forTenant(tenant_id, 'bulk');
        await own.transaction((tx) => store.releaseLease(tx, tenant_id, nodeId, dueAt));
      },
    },
    { atOnce: AT_ONCE, log, activity },
  );
}
