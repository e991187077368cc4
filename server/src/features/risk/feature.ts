import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import { connectionRemoved, rightsOfEverybody } from '../policies/index.ts';
import { riskFactorsOf, secretsRemoved } from '../secrets/index.ts';
import { userRemoved } from '../users/index.ts';
import * as contract from './contract.ts';
import { riskNeeds } from './links.ts';
import { deleteReadsBefore, deleteReadsOf, deleteReadsOfActor } from './read-store.ts';
import * as readers from './readers.ts';
import { riskWorker } from './risk-run.ts';
import { addTenants } from './run-store.ts';
import { STALE_AFTER_DAYS } from './scoring.ts';
import * as risks from './service.ts';
import { deleteChangesBefore, deleteDaysBefore, deleteRisksOf, findFactors } from './store.ts';

const FIRST_RUN_AFTER_MS = HOUR_MS;

export const riskFeature = feature({
  name: 'risk',
  endpoints: contract,
  tables: {
    plain: {
      risk_runs: 'says when risks are computed, and how far that is',
      secret_risks: 'says how risky secrets are; decides nothing, and the next run computes it anew',
      secret_risk_days: 'the history of risks; decides nothing',
      secret_risk_changes: 'how risks changed; decides nothing',
      secret_reads: 'says who read a secret last, for its risk; decides nothing',
    },
  },
  uses: ['activity', 'clock', 'database', 'keyring', 'log', 'nodeId', 'regionGate'],
  needs: riskNeeds,
  build(parts) {
    const { database, clock } = parts;
    const worker = riskWorker(parts, { anomalyPoints: parts.anomalyPoints, afterRisks: parts.recomputeAttackPaths });
    return {
      handlers: {
        readSecretRisk: (ctx, { params }) => risks.read(ctx, parts.reader, parts.anomalyPoints, params),
      },
      provides: [riskFactorsOf.by(findFactors), rightsOfEverybody.by(readers.rightsOfEverybody)],
      removals: [
        secretsRemoved.by(async (tx, tenantId, secretIds) => {
          await deleteRisksOf(tx, tenantId, secretIds);
          await deleteReadsOf(tx, tenantId, secretIds);
        }),
        userRemoved.by((tx, tenantId, userId) => deleteReadsOfActor(tx, tenantId, 'user', userId)),
        connectionRemoved.by((tx, tenantId, { client_id }) =>
          deleteReadsOfActor(tx, tenantId, 'app_connection', client_id),
        ),
      ],
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
            const days = earlier(cutoff, risks.HISTORY_DAYS * DAY_MS);
            while (!signal.aborted && (await database.transaction((tx) => deleteDaysBefore(tx, days))) > 0);
            while (!signal.aborted && (await database.transaction((tx) => deleteChangesBefore(tx, days))) > 0);
            const reads = earlier(cutoff, STALE_AFTER_DAYS * DAY_MS);
            while (!signal.aborted && (await database.transaction((tx) => deleteReadsBefore(tx, reads))) > 0);
          },
        },
      ],
      workers: [worker],
    };
  },
});
