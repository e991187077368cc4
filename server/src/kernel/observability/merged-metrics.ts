import { type Aggregator, AggregatorRegistry } from 'prom-client';

/** One metric with its values, as it is sent from one process to another. */
export interface MetricData {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram' | 'summary';
  aggregator: Aggregator;
  values: MetricValue[];
}

interface MetricValue {
  labels: Record<string, string | number>;
  value: number;
  /** The series of a histogram: its buckets, sum and count. */
  metricName?: string;
}

/** What one worker reports. */
export interface WorkerMetrics {
  /** The memory, processor time and event loop of its process. They are shown with the number of the worker. */
  process: MetricData[];
  /** The rest, of which the workers' values are merged. */
  own: MetricData[];
}

/** What all workers of one command report. */
export interface CollectedMetrics {
  /** How many workers there should be. */
  workers: number;
  reports: { worker: number; metrics: WorkerMetrics }[];
  /** The totals of workers that ended or did not report in time. Without them a total would fall, which Prometheus takes for a restart from zero. */
  earlier: MetricData[];
  restarts: number;
}

export interface OtherWorkers {
  collect(): Promise<CollectedMetrics>;
}

/** Adds up totals, which only grow. Gauges are left out: what a process held is gone with it. */
export async function sumOfTotals(lists: readonly (readonly MetricData[])[]): Promise<MetricData[]> {
  const totals = lists.map((list) => list.filter(({ type }) => type === 'counter' || type === 'histogram'));
  return (await AggregatorRegistry.aggregate(totals).getMetricsAsJSON()) as unknown as MetricData[];
}

/** The metrics of all workers in the text format of Prometheus. `installation` is the same for all of them. */
export function mergedText(
  { reports, earlier }: CollectedMetrics,
  installation: readonly MetricData[],
): Promise<string> {
  const lists = reports.flatMap(({ worker, metrics }) => [
    metrics.own,
    metrics.process.map((metric) => withWorker(metric, worker)),
  ]);
  return AggregatorRegistry.aggregate([...lists, earlier, installation]).metrics();
}

function withWorker(metric: MetricData, worker: number): MetricData {
  const values = metric.values.map((value) => ({ ...value, labels: { ...value.labels, worker: String(worker) } }));
  // No two values have the same labels, so adding them changes nothing, and no aggregator of the library leaves any out.
  return { ...metric, aggregator: 'sum', values };
}
