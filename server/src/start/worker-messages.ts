import type { CollectedMetrics, WorkerMetrics } from '../kernel/observability/merged-metrics.ts';

/** What a worker sends to the supervisor. Nothing in it is a secret. */
export type FromWorker =
  /** It listens. */
  | { type: 'ready' }
  /** A caller requested the metrics of all workers. */
  | { type: 'metrics-wanted'; request: number }
  /** Its own metrics, for the round that the supervisor began; null if it is about to end. */
  | { type: 'metrics'; round: number | null; metrics: WorkerMetrics };

/** What the supervisor sends to a worker. */
export type ToWorker =
  | { type: 'metrics-requested'; round: number }
  | { type: 'metrics-collected'; request: number; collected: CollectedMetrics };

/** Set by the supervisor in the environment of a worker. */
export const POSITION_VARIABLE = 'COFFER_WORKER';

/** Which worker a process is. */
export interface Position {
  /** From 1 to the number of workers. The process that replaces another one has its number. */
  number: number;
  /** Whether it is the first process that the command started. */
  isFirst: boolean;
  /** Where the first worker writes for the others; null on PostgreSQL, where each writes for itself. */
  writerPath: string | null;
}
