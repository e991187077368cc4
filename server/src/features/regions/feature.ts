import { HOUR_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import { assignNewTenant } from '../tenants/index.ts';
import * as contract from './contract.ts';
import { EXPIRED_RETENTION_MS } from './crdt/merge.ts';
import { deleteExpiredCells, REGION_CELLS, REGION_PROMOTIONS } from './directory-store.ts';
import { REGION_CLOCKS, REGION_VECTORS } from './numbers-store.ts';
import { type OpenRegions, openRegions, regionMetrics } from './open-regions.ts';
import * as service from './service.ts';
import { regionSettings } from './settings.ts';
import { REGION_TERMS } from './terms-store.ts';

const EXPIRED_AT_ONCE = 500;

export const regionsFeature = feature({
  name: 'regions',
  endpoints: contract,
  tables: { authenticated: [REGION_VECTORS, REGION_CLOCKS, REGION_CELLS, REGION_PROMOTIONS, REGION_TERMS] },
  settings: [regionSettings],
  uses: [
    'audit',
    'clock',
    'config',
    'database',
    'heads',
    'log',
    'metrics',
    'operatorTenantId',
    'regionGate',
    'signingKeys',
    'time',
  ],
  build(parts) {
    let opened: OpenRegions | null = null;
    return {
      async open() {
        const metrics = regionMetrics(parts, () => opened);
        const region = parts.config.of(regionSettings);
        if (region !== null) opened = await openRegions(parts, region, metrics);
      },
      started: () => opened?.synchronization.start(),
      settled: async () => opened?.synchronization.stop(),
      provides: [assignNewTenant.by(async (tx, tenant, now) => opened?.promotions.assignNew(tx, tenant, now))],
      jobs: [
        {
          name: 'forget-revoked-ids',
          intervalMs: HOUR_MS,
          // All of them expire with their tokens and keys, so it is normal to delete a large share of them.
          removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
          run: async (signal, cutoff) => {
            const remove = () =>
              parts.database.transaction((tx) =>
                deleteExpiredCells(tx, earlier(cutoff, EXPIRED_RETENTION_MS), EXPIRED_AT_ONCE),
              );
            while (!signal.aborted && (await remove()) === EXPIRED_AT_ONCE);
          },
        },
      ],
      handlers: {
        listTenantRegions: (ctx, { query }) => service.list(ctx, opened, query),
        readTenantRegion: (ctx, { params }) => service.read(ctx, opened, params.tenant_id),
        assignTenantRegion: (ctx, { params, body }) => service.assign(ctx, opened, params.tenant_id, body),
        promoteTenantRegion: (ctx, { params, body }) => service.promote(ctx, opened, params.tenant_id, body),
        pullDirectory: (ctx, { query }) => service.pull(ctx, opened, query),
        pushDirectory: (ctx, { body }) => service.push(ctx, opened, body),
      },
    };
  },
});
