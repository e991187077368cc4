import { systemEntry } from '../../kernel/audit/entry/system-entry.ts';
import { findTenant } from '../../kernel/integrity/tenant-rows.ts';
import type { Database, Tx } from '../../kernel/storage/database.ts';
import { rolledUpSince } from '../rollups/index.ts';
import type { Severity } from '../webhooks/index.ts';
import { backendDrift } from './detectors/backend-drift.ts';
import type { Detector, Finding, ScanContext } from './detectors/detector.ts';
import { ipRegion } from './detectors/ip-region.ts';
import { privilegeCreep } from './detectors/privilege-creep.ts';
import { riskSpike } from './detectors/risk-spike.ts';
import { staleRotation } from './detectors/stale-rotation.ts';
import { unusualAccess } from './detectors/unusual-access.ts';
import { zombieConnection } from './detectors/zombie-connection.ts';
import type { AnomalyKernel, AnomalyParts } from './links.ts';
import { periodUntil } from './models/resource-history.ts';
import { raiseAll } from './raise.ts';
import * as scans from './scan-store.ts';
import type { AnomalyThresholds, AnomalyType } from './schemas.ts';
import { anomalySettings } from './settings.ts';
import { countOpen } from './store.ts';

export const DETECTORS: readonly Detector[] = [
  staleRotation,
  unusualAccess,
  ipRegion,
  backendDrift,
  privilegeCreep,
  zombieConnection,
  riskSpike,
];

/** Findings stored in one transaction. */
const FINDINGS_AT_ONCE = 20;
/** Open anomalies of one tenant. Nobody reads more, and each is a row, an event and a part of every list. */
export const OPEN_MAX = 10_000;

/** Another node has taken the scan. */
export class LeaseLost extends Error {}

export interface Opened {
  type: AnomalyType;
  severity: Severity;
}

/** One scan of one tenant by the node that has its lease. It may be repeated after a crash: a finding counts once for each scan. */
export class Scan {
  readonly #kernel: AnomalyKernel & AnomalyParts;
  readonly #row: scans.ScanRow;
  readonly #database: Database;
  readonly #signal: AbortSignal;
  readonly #onOpened: (opened: Opened) => void;
  readonly #now: number;
  #open = 0;
  #opened = 0;

  constructor(
    kernel: AnomalyKernel & AnomalyParts,
    row: scans.ScanRow,
    signal: AbortSignal,
    onOpened: (opened: Opened) => void,
  ) {
    this.#kernel = kernel;
    this.#row = row;
    this.#database = kernel.database.forTenant(row.tenant_id, 'bulk');
    this.#signal = signal;
    this.#onOpened = onOpened;
    this.#now = kernel.clock.now();
  }

  /** Runs every detector, also if one fails, and throws the first failure at the end. */
  async run(): Promise<void> {
    const { tenant_id: tenantId } = this.#row;
    const { read: db } = this.#database;
    const tenant = await findTenant(db, tenantId);
    if (tenant === undefined) return;
    await this.#kernel.counting.catchUp(tenantId, this.#signal);
    const thresholds = JSON.parse(tenant.anomaly_thresholds ?? '{}') as AnomalyThresholds;
    this.#open = await countOpen(db, tenantId);
    const context: ScanContext = {
      kernel: this.#kernel,
      tenantId,
      db,
      now: this.#now,
      period: periodUntil(this.#now),
      countedSince: await rolledUpSince(db, tenantId),
      model: this.#kernel.config.of(anomalySettings).model,
      threshold: (type) => thresholds[type],
      signal: this.#signal,
    };
    const failures: unknown[] = [];
    for (const detector of DETECTORS) {
      if (this.#signal.aborted) return;
      await this.#runOne(detector, context).catch((error: unknown) => {
        if (error instanceof LeaseLost) throw error;
        this.#kernel.log.error({ err: error, tenant: tenantId, detector: detector.type }, 'a detector failed');
        failures.push(error);
      });
    }
    if (this.#signal.aborted) return;
    if (failures.length > 0) throw failures[0];
    await this.#end();
  }

  async #runOne(detector: Detector, context: ScanContext): Promise<void> {
    let batch: Finding[] = [];
    for await (const finding of detector.detect(context)) {
      batch.push(finding);
      if (batch.length < FINDINGS_AT_ONCE) continue;
      await this.#store(detector.type, batch);
      batch = [];
    }
    await this.#store(detector.type, batch);
  }

  async #store(type: AnomalyType, findings: readonly Finding[]): Promise<void> {
    if (findings.length === 0 || this.#signal.aborted) return;
    const { tenant_id: tenantId, scan_no } = this.#row;
    const { model: mode } = this.#kernel.config.of(anomalySettings);
    const opened = await this.#database.transaction(async (tx) => {
      await this.#requireLease(tx);
      const room = OPEN_MAX - this.#open;
      const all = await raiseAll(tx, type, findings, {
        tenantId,
        scanNo: Number(scan_no) + 1,
        now: this.#now,
        mode,
        room,
      });
      return all.flatMap(({ opened: severity }) => severity ?? []);
    });
    if (this.#open < OPEN_MAX && this.#open + opened.length >= OPEN_MAX) {
      this.#kernel.log.warn({ tenant: tenantId, open: OPEN_MAX }, 'a tenant has too many open anomalies for new ones');
    }
    this.#open += opened.length;
    this.#opened += opened.length;
    for (const severity of opened) this.#onOpened({ type, severity });
  }

  /** Locks the row of the scan, so that no other node takes it before the commit. */
  async #requireLease(tx: Tx): Promise<void> {
    const isOurs = await scans.updateScan(tx, this.#row, { lease_owner: this.#row.lease_owner });
    if (!isOurs) throw new LeaseLost();
  }

  async #end(): Promise<void> {
    const { tenant_id: tenantId, scan_no } = this.#row;
    const { audit, clock } = this.#kernel;
    const headKey = await audit.headKey(tenantId);
    await this.#database.transaction(async (tx) => {
      const now = clock.now();
      const ended = { scan_no: Number(scan_no) + 1, last_scanned_at: now, lease_owner: null, lease_until: 0 };
      if (!(await scans.updateScan(tx, this.#row, ended))) throw new LeaseLost();
      await scans.fulfilRequests(tx, tenantId, this.#now);
      if (this.#opened === 0) return;
      const entry = systemEntry({
        tenantId,
        actorId: 'job:scan-anomalies',
        action: 'anomalies:detect',
        resource: 'anomaly-scans',
        status: 200,
        details: { opened: this.#opened },
        now,
      });
      await audit.recordIn(tx, [entry], headKey);
    });
  }
}
