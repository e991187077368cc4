import type { Metric } from 'prom-client';
import { type QueueUse, WAIT_SECONDS } from '../fairness/queue-use.ts';
import type { MetricData } from './merged-metrics.ts';

type Values = MetricData['values'];

/** What statements and transactions wait for, built when the metrics are read. */
export function databaseMetrics(queues: () => readonly QueueUse[]): Metric[] {
  const each = (read: (queue: QueueUse) => number) => (): Values =>
    queues().map((queue) => ({ labels: { queue: nameOf(queue) }, value: read(queue) }));
  return [
    metric(
      'gauge',
      'cv_database_slots',
      'Statements or transactions that may run at a time, by queue.',
      each(({ slots }) => slots),
    ),
    metric(
      'gauge',
      'cv_database_slots_in_use',
      'Statements or transactions that run now, by queue.',
      each(({ inUse }) => inUse),
    ),
    metric(
      'gauge',
      'cv_database_waiting',
      'Statements or transactions that wait for the database now, by queue.',
      each(({ waiting }) => waiting),
    ),
    metric(
      'counter',
      'cv_database_waits_refused_total',
      'Statements or transactions that were refused because they waited too long for the database, or too many waited, by queue.',
      each(({ waits }) => waits.refused),
    ),
    metric(
      'histogram',
      'cv_database_wait_seconds',
      'How long statements and transactions waited for the database, by queue; without those that did not wait.',
      () => queues().flatMap((queue) => histogram('cv_database_wait_seconds', queue)),
    ),
  ];
}

function nameOf({ of }: QueueUse): string {
  return of.replaceAll(' ', '_');
}

function metric(type: MetricData['type'], name: string, help: string, values: () => Values): Metric {
  const about = { name, help, type };
  return { ...about, get: async () => ({ ...about, aggregator: 'sum', values: values() }) } as unknown as Metric;
}

function histogram(name: string, queue: QueueUse): Values {
  const labels = { queue: nameOf(queue) };
  const { inBucket, seconds } = queue.waits;
  let count = 0;
  const buckets = inBucket.map((waits, i) => {
    count += waits;
    return { metricName: `${name}_bucket`, labels: { le: WAIT_SECONDS[i] ?? '+Inf', ...labels }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: seconds },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
