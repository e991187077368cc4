import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { RequestMetrics } from './request-metrics.ts';

const PREFIX = 'cv_';
/** Gauges of the library with names of counters, which `promtool check metrics` rejects. Each is the sum of a gauge by type, which stays. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];
const JOB_SECONDS = [0.01, 0.1, 1, 10, 60, 600];

/** The metrics for Prometheus: endpoints, statuses, jobs. No label names a tenant, a person or a secret. */
export class Metrics {
  readonly registry = new Registry();
  readonly jobRuns = new Counter({
    name: 'cv_job_runs_total',
    help: 'Runs of background jobs on this node, by outcome.',
    labelNames: ['job', 'outcome'],
    registers: [this.registry],
  });
  readonly jobSeconds = new Histogram({
    name: 'cv_job_duration_seconds',
    help: 'Duration of background jobs on this node.',
    labelNames: ['job'],
    buckets: JOB_SECONDS,
    registers: [this.registry],
  });
  readonly jobLastSuccess = new Gauge({
    name: 'cv_job_last_success_timestamp_seconds',
    help: 'When a background job last succeeded on this node.',
    labelNames: ['job'],
    registers: [this.registry],
  });

  readonly refusedSegments = new Counter({
    name: 'cv_audit_refused_total',
    help: 'Parts of the audit log that no node wrote and were refused, or that a node wrote and are gone.',
    registers: [this.registry],
  });
  readonly logsCutBack = new Gauge({
    name: 'cv_audit_logs_cut_back',
    help: 'Audit logs of which the database shows less than this node has seen.',
    registers: [this.registry],
  });
  readonly logsStuck = new Gauge({
    name: 'cv_audit_logs_stuck',
    help: 'Audit logs to which nothing could be linked for a minute.',
    registers: [this.registry],
  });
  readonly forgedRows = new Counter({
    name: 'cv_forged_rows_total',
    help: 'Rows that were refused because the service did not write them as they are, by table.',
    labelNames: ['table'],
    registers: [this.registry],
  });
  readonly rotationsFailed = new Counter({
    name: 'cv_rotations_failed_total',
    help: 'Rotations through a backend that failed, or whose end is not known yet, by failure.',
    labelNames: ['failure'],
    registers: [this.registry],
  });
  readonly jobRefusals = new Gauge({
    name: 'cv_job_removal_refused',
    help: '1 if the last run of a job on this node would have removed more than its share, and so removed nothing.',
    labelNames: ['job'],
    registers: [this.registry],
  });
  readonly clockOffset = new Gauge({
    name: 'cv_clock_offset_seconds',
    help: 'By how much the clock of this node is ahead of the database’s; 0 on SQLite.',
    registers: [this.registry],
  });
  readonly clockTrusted = new Gauge({
    name: 'cv_clock_trusted',
    help: '0 while the clock disagrees with the database’s or with what was recorded before; nothing is removed then.',
    registers: [this.registry],
  });

  readonly checkpointFilesFailing = new Gauge({
    name: 'cv_checkpoint_files_failing',
    help: '1 if audit checkpoints could not be written to CV_CHECKPOINT_DIR when this node last tried; it goes on trying.',
    registers: [this.registry],
  });

  readonly bodiesRefused = new Counter({
    name: 'cv_http_bodies_refused_total',
    help: 'Bodies refused with 503 because of the bytes in flight: `share`, of their tenant or address; `total`, of all.',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly connectionsRefused = new Counter({
    name: 'cv_http_connections_refused_total',
    help: 'Connections closed unread because there were too many: `address`, from where they came; `total`, in all.',
    labelNames: ['reason'],
    registers: [this.registry],
  });

  readonly #requests = new RequestMetrics();

  constructor() {
    for (const metric of this.#requests.metrics()) this.registry.registerMetric(metric);
    collectDefaultMetrics({ register: this.registry, prefix: PREFIX });
    for (const name of MISNAMED) this.registry.removeSingleMetric(`${PREFIX}${name}`);
  }

  /** Registers a number that is computed whenever the metrics are read. */
  collect(name: string, help: string, count: () => Promise<number>): void {
    const collect = async function (this: Gauge) {
      this.set(await count());
    };
    new Gauge({ name, help, collect, registers: [this.registry] });
  }

  observeRequest(endpoint: string, status: number, seconds: number): void {
    this.#requests.observe(endpoint, status, seconds);
  }
}
