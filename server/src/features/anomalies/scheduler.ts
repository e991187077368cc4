import { randomUUID } from 'node:crypto';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { DueWorker } from '../../kernel/jobs/due-work.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { SEVERITIES } from '../webhooks/index.ts';
import type { AnomalyKernel, AnomalyParts } from './links.ts';
import { LeaseLost, Scan } from './scan.ts';
import * as scans from './scan-store.ts';
import { ANOMALY_TYPES } from './schemas.ts';
import { anomalySettings } from './settings.ts';

/** Tenants that one node scans at once. A scan computes much, and its node also serves requests. */
const AT_ONCE = 2;
/** How long a scan belongs to its node without a renewal. */
const LEASE_MS = MINUTE_MS;
const RENEW_MS = LEASE_MS / 3;
/** A scan in which a detector failed is repeated after this time. */
const RETRY_MS = HOUR_MS;
/** A new tenant has nothing to scan, and after an upgrade the counts come first. */
const FIRST_SCAN_AFTER_MS = HOUR_MS;
const SCAN_SECONDS = [0.1, 1, 10, 60, 300, 1800];

function metricsOf(metrics: Metrics) {
  const help = 'Duration of the scans of one tenant on this node.';
  const seconds = metrics.histogram('cv_anomaly_scheduler_duration_seconds', help, SCAN_SECONDS);
  return { detected: countedFromZero(metrics), seconds };
}

/** A series that appears with its first value would hide that value from `increase`. */
function countedFromZero(metrics: Metrics) {
  const labels = ['type', 'severity'] as const;
  const name = 'cv_anomalies_detected_total';
  const detected = metrics.counter(name, 'Anomalies that scans of this node opened.', labels);
  for (const type of ANOMALY_TYPES) for (const severity of SEVERITIES) detected.labels({ type, severity }).inc(0);
  return detected;
}

/** Scans each tenant when it is due, on one node at a time. */
export function scanWorker(kernel: AnomalyKernel & AnomalyParts): DueWorker<scans.ScanRow> {
  const { database, clock, clockGuard, config, log, activity } = kernel;
  metricsOf(kernel.metrics);
  return new DueWorker<scans.ScanRow>(
    {
      isServed: (row) => kernel.regionGate.isServedHere(row.tenant_id),
      name: 'anomaly scans',
      find: (limit, except) => {
        const now = clock.now();
        const before = now - config.of(anomalySettings).scanIntervalHours * HOUR_MS;
        return scans.dueScans(database.read, { now, before, aheadMaxMs: DAY_MS }, { limit, except });
      },
      take: async (row) => {
        // To a clock that is ahead everything would be stale.
        if ((await clockGuard.check()) === null) return null;
        const lease = newLease(kernel);
        const isTaken = await database.forTenant(row.tenant_id).transaction((tx) => scans.takeScan(tx, row, lease));
        return isTaken ? { ...row, ...lease } : null;
      },
      work: (row, signal) => runScan(kernel, row, signal),
    },
    { atOnce: AT_ONCE, log, activity },
  );
}

/**
 * Each scan has an owner of its own. If the clock is set forward, or the node hangs, its lease ends while it runs, and the same node takes the tenant
 * again: the first scan must then see that it has lost it.
 */
export function newLease({
  nodeId,
  clock,
}: Pick<Kernel, 'clock' | 'nodeId'>): Pick<scans.ScanRow, 'lease_owner' | 'lease_until'> {
  return { lease_owner: `${nodeId}/${randomUUID()}`, lease_until: clock.now() + LEASE_MS };
}

/** Scans a tenant whose lease this node has, and renews the lease meanwhile. */
export async function runScan(
  kernel: AnomalyKernel & AnomalyParts,
  row: scans.ScanRow,
  stopping: AbortSignal,
): Promise<void> {
  const { clock, log } = kernel;
  const { detected, seconds } = metricsOf(kernel.metrics);
  const database = kernel.database.forTenant(row.tenant_id);
  const lost = new AbortController();
  const renew = async () => {
    const change = { lease_until: clock.now() + LEASE_MS };
    if (!(await database.transaction((tx) => scans.updateScan(tx, row, change)))) lost.abort();
  };
  const renewing = setInterval(() => {
    renew().catch((error: unknown) => {
      log.warn({ err: error, tenant: row.tenant_id }, 'the lease of a scan could not be renewed');
    });
  }, RENEW_MS);
  const started = performance.now();
  try {
    await new Scan(kernel, row, AbortSignal.any([stopping, lost.signal]), (opened) =>
      detected.inc({ ...opened }),
    ).run();
    if (stopping.aborted) await release(kernel, row, 0);
  } catch (error) {
    if (error instanceof LeaseLost) return;
    log.error({ err: error, tenant: row.tenant_id }, 'a scan for anomalies failed; it is repeated in an hour');
    await release(kernel, row, clock.now() + RETRY_MS);
  } finally {
    clearInterval(renewing);
    seconds.observe((performance.now() - started) / SECOND_MS);
  }
}

async function release({ database }: Pick<Kernel, 'database'>, row: scans.ScanRow, retry_at: number): Promise<void> {
  const change = { lease_owner: null, lease_until: 0, retry_at };
  await database.forTenant(row.tenant_id).transaction((tx) => scans.updateScan(tx, row, change));
}

/** Tenants that were created since are scanned from now on. */
export async function addTenants(
  { database, clock }: Pick<Kernel, 'clock' | 'database'>,
  signal: AbortSignal,
): Promise<void> {
  const firstAt = clock.now() + FIRST_SCAN_AFTER_MS;
  while (!signal.aborted && (await database.transaction((tx) => scans.addMissingScans(tx, firstAt))) > 0);
}
