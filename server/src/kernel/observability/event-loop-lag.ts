import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Aggregator, Gauge, type Registry } from 'prom-client';

const RESOLUTION_MS = 10;
const NS_PER_SECOND = 1e9;

type IntervalHistogram = ReturnType<typeof monitorEventLoopDelay>;
type Read = (histogram: IntervalHistogram) => number;

/** The metrics of prom-client, under its names. Each is since the last reading; 0 if no request came. */
const MEASURES: readonly (readonly [part: string, what: string, aggregator: Aggregator, read: Read])[] = [
  ['min', 'minimum', 'min', ({ min }) => min],
  ['max', 'maximum', 'max', ({ max }) => max],
  ['mean', 'mean', 'average', ({ mean }) => mean],
  ['stddev', 'standard deviation', 'average', ({ stddev }) => stddev],
  ['p50', '50th percentile', 'average', (histogram) => histogram.percentile(50)],
  ['p90', '90th percentile', 'average', (histogram) => histogram.percentile(90)],
  ['p99', '99th percentile', 'average', (histogram) => histogram.percentile(99)],
];

/** Given to prom-client, whose own measurement of these wakes an idle process a hundred times a second, and cannot be left out. */
export const LIBRARY_PRECISION_MS = 3_600_000;

/** The delay of the event loop, measured only while requests come. */
export class EventLoopLag {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  /** Replaces the metrics of prom-client. */
  replaceIn(registry: Registry, prefix: string): void {
    const histogram = this.#histogram;
    for (const [part, what, aggregator, read] of MEASURES) {
      const name = `${prefix}nodejs_eventloop_lag_${part}_seconds`;
      registry.removeSingleMetric(name);
      const isLast = part === MEASURES.at(-1)?.[0];
      const collect = function (this: Gauge) {
        this.set(histogram.count === 0 ? 0 : read(histogram) / NS_PER_SECOND);
        if (isLast) histogram.reset();
      };
      const help = `The ${what} of the delays of the event loop while requests came.`;
      new Gauge({ name, help, aggregator, collect, registers: [registry] });
    }
  }

  start(): void {
    this.#histogram.enable();
  }

  stop(): void {
    this.#histogram.disable();
  }
}
