import {
  type CollectedMetrics,
  type MetricData,
  sumOfTotals,
  type WorkerMetrics,
} from '../kernel/observability/merged-metrics.ts';

interface Round {
  no: number;
  /** The workers that have not reported yet. */
  waitingFor: Set<number>;
  reports: Map<number, WorkerMetrics>;
  finish(): void;
}

export interface MetricsRoundsParts {
  workers: number;
  waitMs: number;
  /** Asks every worker that listens for its metrics, and returns their numbers. */
  request(round: number): number[];
  restarts(): number;
  onFailure(error: unknown): void;
}

/**
 * Collects the metrics of all workers, in the supervisor. Requests that arrive during a round get its result, so any number of them costs one round
 * at a time. A worker that does not report in time is left out, but its last known totals are not.
 */
export class MetricsRounds {
  readonly #parts: MetricsRoundsParts;
  #rounds = 0;
  #current: Round | null = null;
  #result: Promise<CollectedMetrics | null> | null = null;
  /** What each running worker reported last. */
  readonly #last = new Map<number, WorkerMetrics>();
  /** The totals of all workers that ended. */
  #ended: MetricData[] = [];
  /** Totals are added one after the other, because each addition starts from the result of the one before. */
  #adding: Promise<void> = Promise.resolve();

  constructor(parts: MetricsRoundsParts) {
    this.#parts = parts;
  }

  /** Null after a failure: metrics must not end the supervisor. */
  collect(): Promise<CollectedMetrics | null> {
    this.#result ??= this.#collect()
      .catch((error: unknown) => {
        this.#parts.onFailure(error);
        return null;
      })
      .finally(() => {
        this.#result = null;
      });
    return this.#result;
  }

  /** A worker sent its metrics, for a round or, before it ends, by itself. */
  reported(worker: number, round: number | null, metrics: WorkerMetrics): void {
    this.#last.set(worker, metrics);
    if (this.#current === null || round !== this.#current.no || !this.#current.waitingFor.has(worker)) return;
    this.#current.reports.set(worker, metrics);
    this.#noLongerWaitFor(worker);
  }

  /** A worker's process ended. */
  ended(worker: number): void {
    const last = this.#last.get(worker);
    this.#last.delete(worker);
    this.#current?.reports.delete(worker);
    if (last !== undefined) this.#adding = this.#adding.then(() => this.#add(last));
    this.#noLongerWaitFor(worker);
  }

  async #add({ own }: WorkerMetrics): Promise<void> {
    try {
      this.#ended = await sumOfTotals([this.#ended, own]);
    } catch (error) {
      this.#parts.onFailure(error);
    }
  }

  #noLongerWaitFor(worker: number): void {
    if (this.#current?.waitingFor.delete(worker) && this.#current.waitingFor.size === 0) this.#current.finish();
  }

  /** A worker may end while the totals of another are added. */
  async #allAdded(): Promise<void> {
    for (let adding: Promise<void> | null = null; adding !== this.#adding; ) {
      adding = this.#adding;
      await adding;
    }
  }

  async #collect(): Promise<CollectedMetrics> {
    const { workers, waitMs, request, restarts } = this.#parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    const no = ++this.#rounds;
    const round: Round = { no, waitingFor: new Set(request(no)), reports: new Map(), finish: resolve };
    this.#current = round;
    const timer = setTimeout(resolve, waitMs);
    if (round.waitingFor.size > 0) await promise;
    clearTimeout(timer);
    await this.#allAdded();
    // From here on nothing is awaited until the totals are computed, so that each worker counts once: in its report, as silent, or as ended.
    this.#current = null;
    const silent = [...this.#last].filter(([worker]) => !round.reports.has(worker)).map(([, { own }]) => own);
    return {
      workers,
      reports: [...round.reports].map(([worker, metrics]) => ({ worker, metrics })),
      earlier: await sumOfTotals([this.#ended, ...silent]),
      restarts: restarts(),
    };
  }
}
