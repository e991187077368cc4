import cluster from 'node:cluster';
import { unavailable } from '../kernel/base/errors.ts';
import type { CollectedMetrics, OtherWorkers, WorkerMetrics } from '../kernel/observability/merged-metrics.ts';
import { type FromWorker, POSITION_VARIABLE, type Position, type ToWorker } from './worker-messages.ts';
import { SUPERVISOR_WAIT_MS } from './worker-timing.ts';

/** This process as one of several workers: the messages that it sends to the supervisor and gets from it. */
export class Worker implements OtherWorkers {
  readonly position: Position;
  readonly #waiting = new Map<number, (collected: CollectedMetrics) => void>();
  #requests = 0;

  /** Null if this process is the only one. */
  static current(env: Readonly<Record<string, string | undefined>>): Worker | null {
    const position = env[POSITION_VARIABLE];
    return cluster.isWorker && position !== undefined ? new Worker(JSON.parse(position) as Position) : null;
  }

  private constructor(position: Position) {
    this.position = position;
  }

  /** The worker that writes for the others, which is the first one; null if each writes for itself. */
  get writer(): { path: string; isThis: boolean } | null {
    const { number, writerPath } = this.position;
    return writerPath === null ? null : { path: writerPath, isThis: number === 1 };
  }

  /** Tells the supervisor that this worker listens, and reports its metrics whenever they are requested. */
  ready(metrics: () => Promise<WorkerMetrics>, onFailure: (error: unknown) => void): void {
    process.on('message', (message: ToWorker) => {
      if (message.type === 'metrics-collected') this.#waiting.get(message.request)?.(message.collected);
      else metrics().then((own) => send({ type: 'metrics', round: message.round, metrics: own }), onFailure);
    });
    void send({ type: 'ready' });
  }

  /** Without a supervisor nobody would replace or stop this worker, so it has to end. */
  onSupervisorLost(end: () => void): void {
    const { worker } = cluster;
    worker?.once('disconnect', () => {
      // Otherwise Node exits as soon as this function returns, without finishing the requests in flight.
      worker.exitedAfterDisconnect = true;
      end();
    });
  }

  /** The last report before this worker ends, so that what it counted is not lost. */
  async lastReport(metrics: WorkerMetrics): Promise<void> {
    await send({ type: 'metrics', round: null, metrics });
  }

  async collect(): Promise<CollectedMetrics> {
    const request = ++this.#requests;
    const { promise, resolve, reject } = Promise.withResolvers<CollectedMetrics>();
    const timer = setTimeout(
      () => reject(unavailable('The metrics of the other workers could not be collected in time: try again.')),
      SUPERVISOR_WAIT_MS,
    );
    this.#waiting.set(request, resolve);
    try {
      await send({ type: 'metrics-wanted', request });
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(request);
    }
  }
}

/** Resolves when the message is sent. If the supervisor is gone, this worker is already ending, and nobody needs the message. */
function send(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected && process.send !== undefined) process.send(message, undefined, undefined, () => resolve());
    else resolve();
  });
}
