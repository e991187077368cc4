import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const REQUEST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const JOB_SECONDS = [0.01, 0.1, 1, 10, 60, 600];

/** What Prometheus may see: endpoints, statuses, jobs. Nothing names a tenant, a person or a secret. */
export class Metrics {
  readonly registry = new Registry();
  readonly requests = new Counter({
    name: 'cv_http_requests_total',
    help: 'Requests answered, by endpoint and status.',
    labelNames: ['endpoint', 'status'],
    registers: [this.registry],
  });
  readonly requestSeconds = new Histogram({
    name: 'cv_http_request_duration_seconds',
    help: 'Time from a parsed request to its answer, audit included.',
    labelNames: ['endpoint'],
    buckets: REQUEST_SECONDS,
    registers: [this.registry],
  });
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

  readonly #requestLabels = new Map<string, Counter.Internal>();
  readonly #secondsLabels = new Map<string, Histogram.Internal<'endpoint'>>();

  constructor() {
    collectDefaultMetrics({ register: this.registry, prefix: 'cv_' });
  }

  /** Labels are looked up once for each endpoint and status, of which there are few, and not on every request. */
  observeRequest(endpoint: string, status: number, seconds: number): void {
    const key = `${endpoint} ${status}`;
    let requests = this.#requestLabels.get(key);
    let duration = this.#secondsLabels.get(endpoint);
    if (requests === undefined || duration === undefined) {
      requests = this.requests.labels(endpoint, String(status));
      duration = this.requestSeconds.labels(endpoint);
      this.#requestLabels.set(key, requests);
      this.#secondsLabels.set(endpoint, duration);
    }
    requests.inc();
    duration.observe(seconds);
  }
}
