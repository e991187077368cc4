import { HOUR_MS } from '../../kernel/platform/clock.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import * as contract from './contract.ts';
import { EXPIRED_KEPT_MS } from './crdt/merge.ts';
import { deleteExpiredCells } from './directory-store.ts';
import { type OpenRegions, openRegions, regionMetrics } from './open-regions.ts';
import * as service from './service.ts';

export { REGION_CELLS, REGION_PROMOTIONS } from './directory-store.ts';

const EXPIRED_AT_ONCE = 500;

export function regionsFeature(kernel: Kernel): Feature {
  let opened: OpenRegions | null = null;
  return {
    name: 'regions',
    async open() {
      const metrics = regionMetrics(kernel, () => opened);
      const { region } = kernel.config;
      if (region !== null) opened = await openRegions(kernel, region, metrics);
    },
    started: () => opened?.synchronization.start(),
    settled: async () => opened?.synchronization.stop(),
    provides: {
      assignNewTenant: async (tx, tenant, now) => opened?.promotions.assignNew(tx, tenant, now),
    },
    jobs: [
      {
        name: 'forget-revoked-ids',
        intervalMs: HOUR_MS,
        // All of them expire with their tokens and keys, so it is normal to delete a large share of them.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: async (signal, cutoff) => {
          const remove = () =>
            kernel.database.transaction((tx) =>
              deleteExpiredCells(tx, earlier(cutoff, EXPIRED_KEPT_MS), EXPIRED_AT_ONCE),
            );
          while (!signal.aborted && (await remove()) === EXPIRED_AT_ONCE);
        },
      },
    ],
    endpoints: bindContract(contract, {
      listTenantRegions: (ctx, { query }) => service.list(ctx, opened, query),
      readTenantRegion: (ctx, { params }) => service.read(ctx, opened, params.tenant_id),
      assignTenantRegion: (ctx, { params, body }) => service.assign(ctx, opened, params.tenant_id, body),
      promoteTenantRegion: (ctx, { params, body }) => service.promote(ctx, opened, params.tenant_id, body),
      pullDirectory: (ctx, { query }) => service.pull(ctx, opened, query),
      pushDirectory: (ctx, { body }) => service.push(ctx, opened, body),
    }),
  };
}
