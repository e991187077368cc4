import { DAY_MS, HOUR_MS } from '../../kernel/platform/clock.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import { secretReader } from '../secrets/index.ts';
import * as contract from './contract.ts';
import { deleteReadsBefore, deleteReadsOf, deleteReadsOfActor } from './read-store.ts';
import { rightsOfEverybody, type SameRights } from './readers.ts';
import { riskWorker } from './risk-run.ts';
import { addTenants } from './run-store.ts';
import { type AnomalyPoints, STALE_AFTER_DAYS } from './scoring.ts';
import { HISTORY_DAYS, read, riskFactorsOf } from './service.ts';
import { deleteChangesBefore, deleteDaysBefore, deleteRisksOf } from './store.ts';

export { couldRead, type Grant, grantOf, readersInVault, type SameRights } from './readers.ts';
export { findRun as findRiskRun, requestRun as requestRiskRun } from './run-store.ts';
export type { AnomalyPoints } from './scoring.ts';
export { read as readRisk } from './service.ts';
export { type RiskSpike, riskSpikes, type SpikeOptions } from './spikes.ts';
export { type RiskRow, worstOfVaults, worstRisks } from './store.ts';

declare module '../../kernel/platform/wiring.ts' {
  interface Ports {
    /**
     * What open anomalies add to the risk of secrets: 10 points for each high one and 20 for each critical one, also for 7 days after it ended. `why`
     * counts them and names nobody.
     */
    anomalyPoints(
      db: Reader,
      tenantId: string,
      secretIds: readonly string[],
    ): Promise<ReadonlyMap<string, AnomalyPoints>>;
    /** Finds the attack paths of a tenant anew, once its risks are computed. */
    recomputeAttackPaths(tenantId: string, readers: readonly SameRights[], signal: AbortSignal): Promise<void>;
  }
}

const FIRST_RUN_AFTER_MS = HOUR_MS;

export function riskFeature(kernel: Kernel, wiring: Wiring): Feature {
  const { database, clock } = kernel;
  const { recomputeAttackPaths, anomalyPoints } = wiring.needs('recomputeAttackPaths', 'anomalyPoints');
  const worker = riskWorker(kernel, { anomalyPoints, afterRisks: recomputeAttackPaths });
  return {
    name: 'risk',
    endpoints: bindContract(contract, {
      readSecretRisk: (ctx, { params }) => read(ctx, secretReader(kernel), anomalyPoints, params),
    }),
    provides: { riskFactorsOf, rightsOfEverybody },
    removals: {
      secrets: async (tx, tenantId, secretIds) => {
        await deleteRisksOf(tx, tenantId, secretIds);
        await deleteReadsOf(tx, tenantId, secretIds);
      },
      user: (tx, tenantId, userId) => deleteReadsOfActor(tx, tenantId, 'user', userId),
      connection: (tx, tenantId, { client_id }) => deleteReadsOfActor(tx, tenantId, 'app_connection', client_id),
    },
    jobs: [
      {
        name: 'schedule-risk-runs',
        intervalMs: HOUR_MS,
        removes: 'nothing',
        run: () => database.transaction((tx) => addTenants(tx, clock.now() + FIRST_RUN_AFTER_MS)),
      },
      {
        name: 'delete-old-risks',
        intervalMs: HOUR_MS,
        // The history has 35 days, and after a longer pause of the service all of it is older.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: async (signal, cutoff) => {
          const days = earlier(cutoff, HISTORY_DAYS * DAY_MS);
          while (!signal.aborted && (await database.transaction((tx) => deleteDaysBefore(tx, days))) > 0);
          while (!signal.aborted && (await database.transaction((tx) => deleteChangesBefore(tx, days))) > 0);
          const reads = earlier(cutoff, STALE_AFTER_DAYS * DAY_MS);
          while (!signal.aborted && (await database.transaction((tx) => deleteReadsBefore(tx, reads))) > 0);
        },
      },
    ],
    started: () => worker.start(),
    settled: () => worker.stop(),
  };
}
