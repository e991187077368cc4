import { DueWorker } from '../../kernel/jobs/due-work.ts';
import { ExporterRun, LEASE_MS } from './exporter-run.ts';
import type { ExporterKernel } from './links.ts';
import type { ReceiverParts } from './receivers.ts';
import * as store from './store.ts';

/** Exporters that one node runs at once, so that receivers that hang cannot use up its memory and connections. */
const RUNNING_MAX = 64;
/** Of these for one tenant, and for all whose last attempt failed: a receiver that hangs holds its slot for half a minute each time. */
const PER_TENANT = RUNNING_MAX / 4;
const FAILING_AT_ONCE = RUNNING_MAX / 4;
/** The group of failing exporters. No tenant has this id. */
const FAILING = 'failing';

/** Runs each exporter with entries to send, on one node at a time. */
export function exporterRunner(kernel: ExporterKernel, parts: ReceiverParts): DueWorker<store.ProgressRow> {
  const { database, clock, nodeId, log, activity } = kernel;
  return new DueWorker<store.ProgressRow>(
    {
      isServed: (row) => kernel.regionGate.isServedHere(row.tenant_id),
      name: 'exporters',
      find: (limit, full) =>
        store.dueExporters(database.read, clock.now(), {
          limit,
          exceptTenants: full.filter((name) => name !== FAILING),
          exceptFailing: full.includes(FAILING),
        }),
      groups: ({ tenant_id, failures }) => [
        { name: tenant_id, slots: PER_TENANT, isShare: true },
        ...(failures > 0 ? [{ name: FAILING, slots: FAILING_AT_ONCE }] : []),
      ],
      take: async (row) => {
        const lease = { lease_owner: nodeId, lease_until: clock.now() + LEASE_MS };
        const isTaken = await database.forTenant(row.tenant_id).transaction((tx) => store.takeLease(tx, row, lease));
        return isTaken ? { ...row, ...lease } : null;
      },
      work: async (row, signal) => {
        const run = await ExporterRun.open(kernel, parts, row);
        await run?.run(signal);
      },
    },
    { atOnce: RUNNING_MAX, log, activity },
  );
}
