import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { allEndpoints } from '../../kernel/feature/wiring.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import { buildLookUpFilter, countedSeq } from '../audit/index.ts';
import { lastSeenOf, userRemoved } from '../users/index.ts';
import * as activity from './activity-store.ts';
import * as contract from './contract.ts';
import { Counting, RETENTION_DAYS } from './counting.ts';
import { Countries } from './countries.ts';
import * as counts from './counts.ts';
import { buildChangeFilter } from './hourly-activity.ts';
import { deleteOldActivity } from './hourly-activity-store.ts';
import { sharedCounting } from './links.ts';
import { rollupWorker } from './rollup-worker.ts';
import { readActivity } from './service.ts';
import { rollupSettings } from './settings.ts';
import * as store from './store.ts';

const TENANTS_AT_ONCE = 100;

export const rollupsFeature = feature({
  name: 'rollups',
  endpoints: contract,
  tables: {
    plain: {
      user_activity: 'when people were last seen, which is shown and decides nothing',
      hourly_counts: 'statistics of the audit log, which decide about nobody’s access',
      hourly_activity: 'statistics of the audit log, which decide about nobody’s access',
      hourly_actors: 'statistics of the audit log, which decide about nobody’s access',
      rollup_progress: 'how far the log is counted; a forged row makes the statistics wrong, not the log',
    },
  },
  settings: [rollupSettings],
  uses: ['activity', 'audit', 'clock', 'config', 'damagedSegments', 'database', 'log', 'nodeId', 'regionGate'],
  needs: { endpoints: allEndpoints },
  shares: [sharedCounting],
  build(parts) {
    const isChange = onceKnown(() => buildChangeFilter(parts.endpoints.declarations));
    const isLookUp = onceKnown(() => buildLookUpFilter(parts.endpoints.declarations));
    const counting = new Counting(parts, new Countries(parts), isChange);
    const worker = rollupWorker(parts, counting);
    return {
      handlers: { readAuditActivity: (ctx, { query }) => readActivity(ctx, query, { isChange, isLookUp }) },
      shares: [sharedCounting.as(counting)],
      jobs: [
        {
          name: 'delete-old-counts',
          intervalMs: HOUR_MS,
          // Counts are of use for 35 days only, and after a longer pause of the service all of them are older.
          removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
          run: async (signal, cutoff) => {
            const before = earlier(cutoff, RETENTION_DAYS * DAY_MS);
            const { database } = parts;
            for (let after = ''; !signal.aborted; ) {
              const tenants = await store.tenantsWithCounts(database.read, after, TENANTS_AT_ONCE);
              for (const tenantId of tenants) {
                const own = database.forTenant(tenantId, 'bulk');
                while (!signal.aborted && (await own.transaction((tx) => store.deleteOldCounts(tx, tenantId, before))));
                while (!signal.aborted && (await own.transaction((tx) => deleteOldActivity(tx, tenantId, before))));
              }
              const last = tenants.at(-1);
              if (last === undefined || tenants.length < TENANTS_AT_ONCE) return;
              after = last;
            }
          },
        },
      ],
      provides: [countedSeq.by(counts.countedSeq), lastSeenOf.by(activity.lastSeenOf)],
      removals: [userRemoved.by(activity.deleteActivity)],
      workers: [worker],
    };
  },
});

/** The endpoints of all features are known when the first entry or request comes. */
function onceKnown<A extends unknown[], R>(build: () => (...args: A) => R): (...args: A) => R {
  let built: ((...args: A) => R) | null = null;
  return (...args) => {
    built ??= build();
    return built(...args);
  };
}
