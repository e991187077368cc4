import { setTimeout as sleep } from 'node:timers/promises';
import { SECOND_MS } from '../base/clock.ts';

/** How long one reading of the metrics waits for the numbers that are queried. Prometheus gives up after ten seconds. */
export const QUERY_MS_MAX = 2 * SECOND_MS;

/**
 * Runs the queries behind metrics. A query that fails or takes too long yields null, so that one locked table or a lost database hides only the
 * numbers that come from it. A query that is still running is not started again, so slow ones do not pile up.
 */
export class MetricQueries {
  readonly #timeoutMs: number;
  readonly #running = new Map<string, Promise<unknown>>();
  /** Queries that this reading of the metrics waits for. */
  readonly #awaited = new Set<Promise<unknown>>();
  readonly #failed = new Set<string>();

  constructor(timeoutMs = QUERY_MS_MAX) {
    this.#timeoutMs = timeoutMs;
  }

  /** The result of the query of this metric, or null without one in time. */
  read<T>(metric: string, query: () => Promise<T>): Promise<T | null> {
    const reading = this.#inTime(metric, query);
    this.#awaited.add(reading);
    return reading.finally(() => this.#awaited.delete(reading));
  }

  /** The metrics whose last query failed or took too long, once all queries of this reading have ended. */
  async failed(): Promise<readonly string[]> {
    // The queries of metrics that are registered later start in this turn of the event loop, too.
    await sleep(0);
    await Promise.all(this.#awaited);
    return [...this.#failed];
  }

  async #inTime<T>(metric: string, query: () => Promise<T>): Promise<T | null> {
    const timeout = new AbortController();
    try {
      const result = await Promise.race([this.#run(metric, query), late(this.#timeoutMs, timeout.signal)]);
      this.#failed.delete(metric);
      return result;
    } catch {
      // What failed is shown by name; the query's own error is logged by the database.
      this.#failed.add(metric);
      return null;
    } finally {
      timeout.abort();
    }
  }

  #run<T>(metric: string, query: () => Promise<T>): Promise<T> {
    const running = this.#running.get(metric) as Promise<T> | undefined;
    if (running !== undefined) return running;
    const started = query().finally(() => this.#running.delete(metric));
    this.#running.set(metric, started);
    // A query that fails after nobody waits for it any more must not end the process.
    started.catch(() => {});
    return started;
  }
}

async function late(ms: number, signal: AbortSignal): Promise<never> {
  await sleep(ms, undefined, { signal });
  throw new Error('the query took too long');
}
