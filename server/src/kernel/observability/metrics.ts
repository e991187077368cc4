import { type Aggregator, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { QueueUse } from '../fairness/queue-use.ts';
import { databaseMetrics } from './database-metrics.ts';
import { EventLoopLag, LIBRARY_PRECISION_MS } from './event-loop-lag.ts';
import { type MetricData, mergedText, type OtherWorkers, type WorkerMetrics } from './merged-metrics.ts';
import { MetricQueries } from './metric-queries.ts';
import { RequestMetrics } from './request-metrics.ts';

const PREFIX = 'cv_';
/** Gauges of the library with names of counters, which `promtool check metrics` rejects. Each is the sum of a gauge by type, which stays. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];
const JOB_SECONDS = [0.01, 0.1, 1, 10, 60, 600];
const AUDIT_WRITE_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 15];
const VERIFICATION_RESULTS = ['valid', 'invalid'] as const;

/** A registered metric. Its values are not part of the library's type for all kinds of them. */
interface Readable {
  get(): Promise<MetricData>;
}

/**
 * The metrics for Prometheus: those of the kernel, and what features register. No label names a tenant, a person or a secret. With several workers,
 * any of them returns the metrics of all: counters and histograms are added, and each gauge names its aggregator. The metrics of the Node process
 * get a label `worker` instead, and what describes the whole installation is read by the worker that got the request.
 */
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
    aggregator: 'max',
    registers: [this.registry],
  });

  readonly refusedSegments = new Counter({
    name: 'cv_audit_refused_total',
    help: 'Segments of the audit log that no node wrote and that were refused, or that a node wrote and that are missing.',
    registers: [this.registry],
  });
  readonly damagedSegments = new Counter({
    name: 'cv_audit_damaged_segments_total',
    help: 'Segments of the audit log that could not be read, because somebody changed them in the database. Each is counted once by a process.',
    registers: [this.registry],
  });
  readonly logsCutBack = new Gauge({
    name: 'cv_audit_logs_cut_back',
    help: 'Audit logs that are shorter in the database than this node has seen.',
    aggregator: 'max',
    registers: [this.registry],
  });
  readonly logsStuck = new Gauge({
    name: 'cv_audit_logs_stuck',
    help: 'Audit logs to which no entry could be linked for a minute.',
    aggregator: 'max',
    registers: [this.registry],
  });
  readonly auditWriteSeconds = new Histogram({
    name: 'cv_audit_write_duration_seconds',
    help: 'Duration of the writes that make audit entries of reads and refusals durable; requests wait for them.',
    buckets: AUDIT_WRITE_SECONDS,
    registers: [this.registry],
  });
  readonly verifications = new Counter({
    name: 'cv_audit_verifications_total',
    help: 'Verifications of audit logs on this node, by result.',
    labelNames: ['result'],
    registers: [this.registry],
  });
  readonly lastVerification = new Gauge({
    name: 'cv_audit_last_verification_timestamp_seconds',
    help: 'When an audit log was last verified on this node; 0 if none was since its start.',
    aggregator: 'max',
    registers: [this.registry],
  });
  readonly logsInvalid = new Gauge({
    name: 'cv_audit_logs_invalid',
    help: 'Audit logs that failed verification, as the last run of the job verify-audit on this node found.',
    aggregator: 'max',
    registers: [this.registry],
  });
  readonly archiveFailing = new Gauge({
    name: 'cv_audit_archive_failing',
    help: '1 if the last run of the job archive-audit on this node could not archive every audit log; it is retried hourly.',
    aggregator: 'max',
    registers: [this.registry],
  });
  readonly forgedRows = new Counter({
    name: 'cv_forged_rows_total',
    help: 'Rows refused because they were not written by the service or were changed outside it, by table.',
    labelNames: ['table'],
    registers: [this.registry],
  });
  readonly jobRefusals = new Gauge({
    name: 'cv_job_removal_refused',
    help: '1 if the last run of a job, on whichever node, would have deleted more than its limit, and so deleted nothing.',
    labelNames: ['job'],
    aggregator: 'max',
    registers: [this.registry],
  });
  readonly clockOffset = new Gauge({
    name: 'cv_clock_offset_seconds',
    help: 'Seconds by which the clock of this node is ahead of the database’s; 0 on SQLite.',
    aggregator: 'max',
    registers: [this.registry],
  });
  readonly clockTrusted = new Gauge({
    name: 'cv_clock_trusted',
    help: '0 while the clock disagrees with the database’s or with earlier records; nothing is deleted then.',
    aggregator: 'min',
    registers: [this.registry],
  });

  readonly bodiesRefused = new Counter({
    name: 'cv_http_bodies_refused_total',
    help: 'Request bodies refused with 503 because too many bytes are in flight: `share`, limit of one tenant or address; `total`, limit of the process.',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly connectionsRefused = new Counter({
    name: 'cv_http_connections_refused_total',
    help: 'Connections closed unread because there were too many: `address`, limit of one address; `total`, limit of the process.',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly refusedBeforeRouting = new Counter({
    name: 'cv_http_refused_before_routing_total',
    help: 'Requests that were refused before an endpoint was found for them, by reason. They are in no other count of requests.',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly traceSpans = new Counter({
    name: 'cv_trace_spans_total',
    help: 'Spans of traces, with CV_OTLP_URL: exported, rejected by the collector, or dropped because it was away or too many waited.',
    labelNames: ['outcome'],
    registers: [this.registry],
  });
  readonly eventLoopLag = new EventLoopLag();
  /** Shown as `cv_http_requests_in_flight`. A plain number, because each request changes it twice. */
  requestsInFlight = 0;
  /** Shown as `cv_http_body_bytes`. */
  bodyBytes = 0;
  /** Shown as `cv_http_connections`. */
  connections = 0;

  readonly #workers = new Gauge({
    name: 'cv_workers',
    help: 'Processes that should serve requests (CV_WORKERS).',
    registers: [this.registry],
  });
  readonly #workersReporting = new Gauge({
    name: 'cv_workers_reporting',
    help: 'Processes that serve requests and whose metrics are included here.',
    registers: [this.registry],
  });
  readonly #workerRestarts = new Counter({
    name: 'cv_worker_restarts_total',
    help: 'Workers that ended and were replaced.',
    registers: [this.registry],
  });

  readonly #requests = new RequestMetrics();
  /** The names of metrics that describe the Node process. */
  readonly #ofProcess: ReadonlySet<string>;
  /** The names of metrics that every process of the installation would report alike. */
  readonly #ofInstallation = new Set(['cv_workers', 'cv_workers_reporting', 'cv_worker_restarts_total']);
  readonly #queries = new MetricQueries();
  #others: OtherWorkers | null = null;

  constructor() {
    this.#showWorkers(1, 1, 0);
    // A series that appears with its first value would hide that value from `increase`.
    for (const result of VERIFICATION_RESULTS) this.verifications.labels(result).inc(0);
    this.gaugeOf('cv_http_requests_in_flight', 'Requests that are being handled.', 'sum', () => this.requestsInFlight);
    for (const metric of this.#requests.metrics()) this.registry.registerMetric(metric);
    const held = 'Bytes of memory that the request bodies in flight hold.';
    this.gaugeOf('cv_http_body_bytes', held, 'sum', () => this.bodyBytes);
    this.gaugeOf('cv_http_connections', 'Open connections of clients.', 'sum', () => this.connections);
    this.#showFailedQueries();
    const own = new Set(this.#names());
    collectDefaultMetrics({
      register: this.registry,
      prefix: PREFIX,
      eventLoopMonitoringPrecision: LIBRARY_PRECISION_MS,
    });
    this.eventLoopLag.replaceIn(this.registry, PREFIX);
    for (const name of MISNAMED) this.registry.removeSingleMetric(`${PREFIX}${name}`);
    this.#ofProcess = new Set(this.#names().filter((name) => !own.has(name)));
  }

  /** From now on, `text` contains the metrics of all workers. */
  joinWorkers(others: OtherWorkers): void {
    this.#others = others;
  }

  async text(): Promise<string> {
    if (this.#others === null) return this.registry.metrics();
    const collected = await this.#others.collect();
    this.#showWorkers(collected.workers, collected.reports.length, collected.restarts);
    return mergedText(collected, await this.#data((name) => this.#ofInstallation.has(name)));
  }

  #showWorkers(workers: number, reporting: number, restarts: number): void {
    this.#workers.set(workers);
    this.#workersReporting.set(reporting);
    this.#workerRestarts.reset();
    this.#workerRestarts.inc(restarts);
  }

  /** What this worker contributes to the metrics of all. */
  async ofWorker(): Promise<WorkerMetrics> {
    const isOwn = (name: string) => !this.#ofProcess.has(name) && !this.#ofInstallation.has(name);
    const [process, own] = await Promise.all([this.#data((name) => this.#ofProcess.has(name)), this.#data(isOwn)]);
    return { process, own };
  }

  #names(): string[] {
    return this.registry.getMetricsAsArray().map(({ name }) => name);
  }

  #data(isWanted: (name: string) => boolean): Promise<MetricData[]> {
    const metrics = this.registry.getMetricsAsArray().filter(({ name }) => isWanted(name));
    return Promise.all(metrics.map((metric) => (metric as unknown as Readable).get()));
  }

  /** What a feature counts, registered at the first call, because several parts of a feature may count the same. */
  counter<L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> {
    const known = this.registry.getSingleMetric(name);
    if (known instanceof Counter) return known as Counter<L>;
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }

  /** Registers a number that a feature sets. The aggregator makes one number of those of all workers. */
  gauge(name: string, help: string, aggregator: Aggregator): Gauge {
    return new Gauge({ name, help, aggregator, registers: [this.registry] });
  }

  /** Registers a number of this process, which is read whenever the metrics are. */
  gaugeOf(name: string, help: string, aggregator: Aggregator, read: () => number | Promise<number>): void {
    const collect = async function (this: Gauge) {
      this.set(await read());
    };
    new Gauge({ name, help, aggregator, collect, registers: [this.registry] });
  }

  /** Shows what statements and transactions wait for. */
  watchDatabase(queues: () => readonly QueueUse[]): void {
    for (const metric of databaseMetrics(queues)) this.registry.registerMetric(metric);
  }

  /** Shows which release runs, made from which commit, on which schema and which release of Node. */
  setBuild(labels: Readonly<Record<'version' | 'commit' | 'schema' | 'node', string>>): void {
    const name = 'coffer_build_info';
    const help =
      'Always 1; its labels are the release of Coffer, the commit it was made from, the version of the database schema, and the release of Node.';
    new Gauge({ name, help, labelNames: Object.keys(labels), aggregator: 'max', registers: [this.registry] }).set(
      labels,
      1,
    );
  }

  /** Durations that a feature measures, registered at the first call. */
  histogram(name: string, help: string, buckets: readonly number[]): Histogram {
    const known = this.registry.getSingleMetric(name);
    if (known instanceof Histogram) return known;
    return new Histogram({ name, help, buckets: [...buckets], registers: [this.registry] });
  }

  /** Registers a number of the whole installation, which is queried whenever the metrics are read. It is left out if the query fails. */
  collect(name: string, help: string, count: () => Promise<number>): void {
    this.collectBy({ name, help, labels: [] }, async () => [{ value: await count() }]);
  }

  /**
   * Registers numbers of the whole installation by label, queried whenever the metrics are read. Those of deleted rows are gone then, and all of them
   * are if the query fails.
   */
  collectBy<L extends string>(
    { name, help, labels }: { name: string; help: string; labels: readonly L[] },
    find: () => Promise<readonly (Record<L, string> & { value: number })[]>,
  ): void {
    this.#ofInstallation.add(name);
    const options = { name, help, labelNames: [...labels], registers: [this.registry] };
    const found = () => this.#queries.read(name, find);
    const labelsOf = (of: object) => of as unknown as Partial<Record<L, string>>;
    // Totals that are stored are counters, although they are set here: they only grow.
    if (name.endsWith('_total')) {
      const collect = async function (this: Counter<L>) {
        const rows = await found();
        clear(this, labels);
        for (const { value, ...of } of rows ?? []) this.inc(labelsOf(of), value);
      };
      new Counter({ ...options, collect });
      return;
    }
    const collect = async function (this: Gauge<L>) {
      const rows = await found();
      clear(this, labels);
      for (const { value, ...of } of rows ?? []) this.set(labelsOf(of), value);
    };
    new Gauge({ ...options, collect });
  }

  #showFailedQueries(): void {
    const queries = this.#queries;
    const name = 'cv_metrics_missing';
    const help = 'Metrics that are missing here because their query failed or took too long, by name.';
    const collect = async function (this: Gauge) {
      const failed = await queries.failed();
      this.reset();
      for (const metric of failed) this.set({ metric }, 1);
    };
    new Gauge({ name, help, labelNames: ['metric'], collect, registers: [this.registry] });
    this.#ofInstallation.add(name);
  }

  observeRequest(endpoint: string, status: number, seconds: number): void {
    this.#requests.observe(endpoint, status, seconds);
  }
}

/** `reset` gives a metric without labels the value 0, which would look like a result. */
function clear<L extends string>(metric: Counter<L> | Gauge<L>, labels: readonly L[]): void {
  if (labels.length === 0) metric.remove();
  else metric.reset();
}
