import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { type Cutoff, earlier } from '../../kernel/time/cutoff.ts';
import { connectionRemoved } from '../policies/index.ts';
import { anomalyPoints } from '../risk/index.ts';
import { secretsRemoved } from '../secrets/index.ts';
import { userRemoved } from '../users/index.ts';
import { readBaselines } from './baselines.ts';
import * as contract from './contract.ts';
import { userResource } from './detectors/unusual-readers.ts';
import { anomalyNeeds } from './links.ts';
import { readModels, VOTES_RETENTION_DAYS } from './model-report.ts';
import { deleteOld } from './model-store.ts';
import * as riskPoints from './risk-points.ts';
import { deleteUse } from './scan-store.ts';
import { addTenants, scanWorker } from './scheduler.ts';
import * as anomalies from './service.ts';
import { anomalySettings } from './settings.ts';
import * as store from './store.ts';

/** An anomaly that nobody acts on is resolved. */
const RESOLVED_AFTER_MS = 30 * DAY_MS;
/** How long ended anomalies, and with them what was dismissed, are of use. */
const ENDED_RETENTION_MS = 365 * DAY_MS;
const RATE_DAYS = 30;

function showState({ metrics, database, clock }: Pick<Kernel, 'clock' | 'database' | 'metrics'>): void {
  metrics.collect('cv_anomalies_open', 'Open anomalies of all tenants.', () => store.countOpen(database.read));
  metrics.collect(
    'cv_anomaly_false_positive_rate',
    'Of the anomalies of the last 30 days that somebody acknowledged or dismissed, the share that was dismissed; 0 if there is none.',
    async () => {
      const { acted, dismissed } = await store.countActedOn(database.read, clock.now() - RATE_DAYS * DAY_MS);
      return acted === 0 ? 0 : dismissed / acted;
    },
  );
}

export const anomaliesFeature = feature({
  name: 'anomalies',
  endpoints: contract,
  tables: {
    plain: {
      anomaly_training:
        'false alarms, which hide findings that are alike; a forged one hides a finding, and grants nothing',
      anomaly_model_votes: 'compares models of detection; decides nothing',
      anomaly_scans:
        'when a tenant was scanned; a forged row delays a scan by a day at most, since later times are not believed',
      connection_uses: 'when a connection was last used, to find unused ones; the connection itself is not in it',
      anomalies: 'what scans found, and what people said about it, which is in the audit log too; grants nothing',
    },
  },
  ids: ['anom'],
  settings: [anomalySettings],
  uses: [
    'activity',
    'audit',
    'clock',
    'clockGuard',
    'config',
    'database',
    'keyring',
    'log',
    'metrics',
    'nodeId',
    'outbound',
    'plans',
    'regionGate',
  ],
  needs: anomalyNeeds,
  build(parts) {
    const { database, clock } = parts;
    const worker = scanWorker(parts);
    showState(parts);
    return {
      handlers: {
        listAnomalies: (ctx, { query }) => anomalies.list(ctx, query),
        readAnomaly: (ctx, { params }) => anomalies.read(ctx, params.anomaly_id),
        acknowledgeAnomaly: (ctx, { params, body }) => anomalies.acknowledge(ctx, params.anomaly_id, body),
        dismissAnomaly: (ctx, { params, body }) => anomalies.dismiss(ctx, params.anomaly_id, body),
        readBaselines: (ctx, { query }) => readBaselines(ctx, query.resource),
        readModels: (ctx) => readModels(ctx),
        scan: (ctx) => anomalies.scanNow(ctx),
      },
      provides: [
        anomalyPoints.by((db, tenantId, secretIds) => riskPoints.anomalyPoints(db, tenantId, secretIds, clock.now())),
      ],
      removals: [
        userRemoved.by((tx, tenantId, userId) =>
          store.resolveAbout(tx, tenantId, { resources: [userResource(userId)] }, clock.now()),
        ),
        secretsRemoved.by((tx, tenantId, secretIds) => store.resolveAbout(tx, tenantId, { secretIds }, clock.now())),
        connectionRemoved.by(async (tx, tenantId, { connection_no, client_id }) => {
          await store.resolveAbout(tx, tenantId, { connectionNo: connection_no }, clock.now());
          await deleteUse(tx, tenantId, client_id);
        }),
      ],
      jobs: [
        {
          name: 'schedule-anomaly-scans',
          intervalMs: MINUTE_MS,
          removes: 'nothing',
          run: (signal) => addTenants(parts, signal),
        },
        {
          name: 'resolve-anomalies',
          intervalMs: HOUR_MS,
          // Nothing is lost: what is still unusual is opened again by the next scan.
          removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
          run: (signal, cutoff) => resolveOverdue(parts, earlier(cutoff, RESOLVED_AFTER_MS), signal),
        },
        {
          name: 'delete-old-anomalies',
          intervalMs: HOUR_MS,
          // Anomalies that ended, votes and false alarms are of use for a limited time, and it is normal that many of them are older.
          removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
          run: async (signal, cutoff) => {
            const ended = earlier(cutoff, ENDED_RETENTION_MS);
            const votes = earlier(cutoff, VOTES_RETENTION_DAYS * DAY_MS);
            while (!signal.aborted && (await database.transaction((tx) => store.deleteEnded(tx, ended))) > 0);
            while (!signal.aborted && (await database.transaction((tx) => deleteOld(tx, votes, ended))) > 0);
          },
        },
      ],
      workers: [worker],
    };
  },
});

async function resolveOverdue(
  { database, clock }: Pick<Kernel, 'clock' | 'database'>,
  before: Cutoff,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const rows = await store.overdue(database.read, before);
    for (const row of rows) {
      if (signal.aborted) return;
      await database.forTenant(row.tenant_id, 'bulk').transaction((tx) => store.resolve(tx, row, clock.now()));
    }
    if (rows.length < store.AT_ONCE) return;
  }
}
