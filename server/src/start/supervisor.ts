import cluster, { type Worker as ClusterWorker } from 'node:cluster';
import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../settings/config.ts';
import { MetricsRounds } from './metrics-rounds.ts';
import { type FromWorker, POSITION_VARIABLE, type Position, type ToWorker } from './worker-messages.ts';
import { drainMsAfter, KILL_AFTER_MS, METRICS_WAIT_MS, RAN_WELL_MS, restartDelayMs } from './worker-timing.ts';
import { newWriterPath } from './writer-path.ts';

const RANDOM_STEPS = 1000;

/** The place of one worker, which is filled again when its process ends. */
interface Slot {
  number: number;
  process: ClusterWorker | null;
  isReady: boolean;
  /** The settings have changed since it was started. */
  isReloadDue: boolean;
  startedAt: number;
  /** How often in a row its process ended before it had run well. */
  failures: number;
  restart: NodeJS.Timeout | undefined;
}

/**
 * Runs the workers behind one port. The supervisor serves no request, and has neither the root key nor a connection to the database.
 *
 * It uses node:cluster, where the supervisor accepts connections and deals them out in turn. The alternatives are worse here:
 * - Sockets of their own with SO_REUSEPORT: the kernel deals out by a hash of the addresses, so a few long-lived connections of a proxy may all end
 *   up at one worker. Connections that wait at a worker which ends are reset. A second command on the same port is not refused, and macOS and
 *   Windows do not have it.
 * - One listening socket that all workers accept from: the first worker to wake up accepts all connections that wait.
 */
export class Supervisor {
  readonly #config: Pick<Config, 'drainMs'>;
  readonly #writerPath: string | null;
  readonly #log: Logger;
  readonly #slots: Slot[];
  readonly #metrics: MetricsRounds;
  #isStarted = false;
  #isStopping = false;
  #restarts = 0;
  #exitCode = 0;

  constructor(config: Pick<Config, 'workers' | 'drainMs' | 'databaseUrl'>, log: Logger) {
    const { workers } = config;
    this.#writerPath = config.databaseUrl === null ? newWriterPath() : null;
    this.#config = config;
    this.#log = log;
    this.#slots = Array.from({ length: workers }, (_, index) => newSlot(index + 1));
    this.#metrics = new MetricsRounds({
      workers,
      waitMs: METRICS_WAIT_MS,
      request: (round) => this.#requestMetrics(round),
      restarts: () => this.#restarts,
      onFailure: (error) => log.error({ err: error }, 'the metrics of the workers could not be added up'),
    });
  }

  /** The first worker starts alone: it migrates the database, and shows whether the service can start at all. */
  start(): void {
    // The default on Windows is another policy.
    cluster.schedulingPolicy = cluster.SCHED_RR;
    // Some metrics are not numbers until they are first measured, which JSON cannot express.
    cluster.setupPrimary({ serialization: 'advanced' });
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#stop(signal));
    process.on('SIGHUP', () => this.#reload());
    cluster.on('message', (worker, message: FromWorker) => this.#receive(worker, message));
    cluster.on('exit', (worker, code, signal) => {
      const ended = () => this.#ended(worker, code, signal || null);
      // The last report of a worker may arrive after the system has said that its process is gone.
      if (worker.isConnected()) worker.once('disconnect', ended);
      else ended();
    });
    const [first] = this.#slots;
    if (first !== undefined) this.#fill(first);
  }

  #fill(slot: Slot): void {
    const writerPath = this.#writerPath;
    const position: Position = { number: slot.number, isFirst: !this.#isStarted, writerPath };
    slot.isReady = false;
    slot.isReloadDue = false;
    slot.startedAt = performance.now();
    slot.process = cluster.fork({ [POSITION_VARIABLE]: JSON.stringify(position) });
    // A process that cannot be created, or a message to one that just ended. What matters is that it ends, which is handled by itself.
    slot.process.on('error', (error) => this.#log.warn({ err: error, worker: slot.number }, 'a worker has a problem'));
  }

  #receive(worker: ClusterWorker, message: FromWorker): void {
    const slot = this.#slotOf(worker);
    if (slot === undefined) return;
    if (message.type === 'ready') this.#ready(slot);
    else if (message.type === 'metrics') this.#metrics.reported(slot.number, message.round, message.metrics);
    else void this.#answerMetrics(worker, message.request);
  }

  #ready(slot: Slot): void {
    slot.isReady = true;
    if (slot.isReloadDue) slot.process?.process.kill('SIGHUP');
    slot.isReloadDue = false;
    const isFirst = !this.#isStarted;
    this.#isStarted = true;
    if (isFirst && !this.#isStopping) for (const other of this.#slots) if (other !== slot) this.#fill(other);
    const ready = this.#slots.filter(({ isReady }) => isReady).length;
    this.#log.info({ worker: slot.number, pid: slot.process?.process.pid, ready }, 'a worker is ready');
  }

  async #answerMetrics(worker: ClusterWorker, request: number): Promise<void> {
    const collected = await this.#metrics.collect();
    // Without an answer the worker says that the metrics are unavailable.
    if (collected !== null && worker.isConnected()) sendTo(worker, { type: 'metrics-collected', request, collected });
  }

  #requestMetrics(round: number): number[] {
    const connected = this.#slots.filter((slot) => slot.isReady && slot.process?.isConnected());
    for (const { process } of connected) if (process !== null) sendTo(process, { type: 'metrics-requested', round });
    return connected.map(({ number }) => number);
  }

  #slotOf(worker: ClusterWorker): Slot | undefined {
    return this.#slots.find(({ process }) => process === worker);
  }

  #ended(worker: ClusterWorker, code: number | null, signal: string | null): void {
    const slot = this.#slotOf(worker);
    if (slot === undefined) return;
    slot.process = null;
    slot.isReady = false;
    this.#metrics.ended(slot.number);
    if (this.#isStopping) {
      // A worker that was still starting has no handler yet, and ends by the signal itself.
      if (code !== 0 && signal !== 'SIGTERM' && signal !== 'SIGINT') this.#exitCode = 1;
      this.#exitIfAllEnded();
    } else if (this.#isStarted) this.#replace(slot, code, signal);
    else this.#firstFailed(code, signal);
  }

  /** The worker has said why. Another attempt would fail in the same way, so this command ends as a single process would. */
  #firstFailed(code: number | null, signal: string | null): void {
    if (signal !== null) this.#log.error({ signal }, 'the first worker was killed before it was ready');
    process.exit(code || 1);
  }

  #replace(slot: Slot, code: number | null, signal: string | null): void {
    const ranMs = Math.round(performance.now() - slot.startedAt);
    slot.failures = ranMs >= RAN_WELL_MS ? 1 : slot.failures + 1;
    const restart_in_ms = restartDelayMs(slot.failures, randomInt(RANDOM_STEPS) / RANDOM_STEPS);
    this.#restarts++;
    // A worker that somebody stopped by hand ends well.
    this.#log[code === 0 ? 'warn' : 'error'](
      { worker: slot.number, exit_code: code, signal, ran_ms: ranMs, restart_in_ms },
      'a worker ended and is replaced',
    );
    slot.restart = setTimeout(() => this.#fill(slot), restart_in_ms);
  }

  /** Repeated signals change nothing: one to the whole process group arrives twice, from the system and from npm, which passes it on. */
  #stop(signal: NodeJS.Signals): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    for (const { restart, process } of this.#slots) {
      clearTimeout(restart);
      process?.process.kill(signal);
    }
    setTimeout(() => this.#killRest(), drainMsAfter(signal, this.#config) + KILL_AFTER_MS).unref();
    this.#exitIfAllEnded();
  }

  /** Each worker loads its settings again. A terminal that is closed sends the signal to the workers itself. */
  #reload(): void {
    if (process.stdout.isTTY) this.#stop('SIGINT');
    else
      for (const slot of this.#slots) {
        // One that is still starting would be ended by the signal, and may have loaded the settings from before.
        if (slot.isReady) slot.process?.process.kill('SIGHUP');
        else slot.isReloadDue = true;
      }
  }

  #killRest(): void {
    for (const { number, process } of this.#slots) {
      if (process === null) continue;
      this.#log.error({ worker: number }, 'a worker did not end in time and is killed');
      process.process.kill('SIGKILL');
    }
  }

  #exitIfAllEnded(): void {
    if (this.#slots.every(({ process }) => process === null)) process.exit(this.#exitCode);
  }
}

function newSlot(number: number): Slot {
  return { number, process: null, isReady: false, isReloadDue: false, startedAt: 0, failures: 0, restart: undefined };
}

/** A worker that ends at this moment does not get the message, and needs none any more. */
function sendTo(worker: ClusterWorker, message: ToWorker): void {
  worker.send(message, undefined, undefined, () => {});
}
