import type { Metric } from 'prom-client';

const BUCKET_ENDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

interface Series {
  byStatus: Map<number, number>;
  /** Number of requests per bucket. The last bucket counts those longer than every limit. */
  inBucket: number[];
  seconds: number;
}

/**
 * Counts requests and their durations. The Prometheus format is built when the metrics are read, because doing so for each request would cost a
 * twentieth of a short one.
 */
export class RequestMetrics {
  readonly #series = new Map<string, Series>();

  observe(endpoint: string, status: number, seconds: number): void {
    let series = this.#series.get(endpoint);
    if (series === undefined) {
      series = { byStatus: new Map(), inBucket: Array(BUCKET_ENDS.length + 1).fill(0), seconds: 0 };
      this.#series.set(endpoint, series);
    }
    series.byStatus.set(status, (series.byStatus.get(status) ?? 0) + 1);
    let bucket = 0;
    while (bucket < BUCKET_ENDS.length && seconds > (BUCKET_ENDS[bucket] as number)) bucket++;
    (series.inBucket[bucket] as number)++;
    series.seconds += seconds;
  }

  metrics(): Metric[] {
    const requests = {
      name: 'cv_http_requests_total',
      help: 'Requests by endpoint and status.',
      type: 'counter',
    };
    const durations = {
      name: 'cv_http_request_duration_seconds',
      help: 'Time from a parsed request to its response, including the audit log.',
      type: 'histogram',
    };
    return [
      { ...requests, get: async () => ({ ...requests, aggregator: 'sum', values: this.#counts() }) },
      { ...durations, get: async () => ({ ...durations, aggregator: 'sum', values: this.#durations(durations.name) }) },
    ] as unknown as Metric[];
  }

  #counts() {
    return [...this.#series].flatMap(([endpoint, { byStatus }]) =>
      [...byStatus].map(([status, value]) => ({ labels: { endpoint, status: String(status) }, value })),
    );
  }

  #durations(name: string) {
    return [...this.#series].flatMap(([endpoint, { inBucket, seconds }]) => {
      let total = 0;
      const buckets = inBucket.map((count, i) => {
        total += count;
        return { metricName: `${name}_bucket`, labels: { le: BUCKET_ENDS[i] ?? '+Inf', endpoint }, value: total };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels: { endpoint }, value: seconds },
        { metricName: `${name}_count`, labels: { endpoint }, value: total },
      ];
    });
  }
}
