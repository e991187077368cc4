import type { Logger } from 'pino';
import { MINUTE_MS, SECOND_MS } from '../base/clock.ts';
import type { Metrics } from './metrics.ts';

/** No request may occupy the event loop for longer. */
export const TURN_MS_MAX = 50;
/** How often the loop is checked. A turn counts from when this was due, so that what is reported was certainly one turn. */
const TICK_MS = 10;
/** After so many ticks without a request nothing is watched until the next one. */
const IDLE_TICKS_MAX = 100;
/** Shorter turns are not measured. */
const NOTICED_MS = 5;
/** The metric shows the longest turn of this and the last period. */
const PERIOD_MS = 5 * MINUTE_MS;
const LOGGED_EVERY_MS = SECOND_MS;
const NAMED_MAX = 5;
const ADVICE =
  'The endpoints named were being handled, and no other request was meanwhile. Report it, with what was sent and how many rows there were.';

/**
 * Measures how long the event loop is occupied at a stretch, in processor time of this thread: a machine that is busy with something else makes no
 * turn longer. A request costs two reads of a clock; the processor time is read only where a stretch was long.
 */
export class TurnMonitor {
  readonly #log: Logger;
  readonly #lag: Metrics['eventLoopLag'];
  /** How many requests to each endpoint are being handled. */
  readonly #inFlight = new Map<string, number>();
  /** Null while there is nothing to watch: an idle service would wake a hundred times a second for it. */
  #timer: NodeJS.Timeout | null = null;
  #begunSinceTick = false;
  #idleTicks = 0;
  #markedAt = performance.now();
  #dueAt = this.#markedAt + TICK_MS;
  #read = { at: this.#markedAt, processorMs: processorMs() };
  #longest = { since: this.#markedAt, ms: 0, lastMs: 0 };
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(metrics: Pick<Metrics, 'gaugeOf' | 'eventLoopLag'>, log: Logger) {
    this.#log = log;
    this.#lag = metrics.eventLoopLag;
    metrics.gaugeOf(
      'cv_event_loop_longest_turn_seconds',
      'Processor time of the longest turn of the event loop in the last five to ten minutes, in which no other request was handled; 0 if none was noticeable.',
      'max',
      () => this.longestMs / SECOND_MS,
    );
  }

  get isWatching(): boolean {
    return this.#timer !== null;
  }

  get longestMs(): number {
    this.#nextPeriod(performance.now());
    return Math.max(this.#longest.ms, this.#longest.lastMs);
  }

  /** Called when a request arrives and its endpoint is known. */
  begin(endpoint: string): void {
    this.#begunSinceTick = true;
    if (this.#timer === null) this.#watch();
    else this.#mark();
    this.#inFlight.set(endpoint, (this.#inFlight.get(endpoint) ?? 0) + 1);
  }

  /** Called when its response is known: if the turn was long, it is the likeliest cause. */
  end(endpoint: string): void {
    this.#mark(endpoint);
    this.#inFlight.set(endpoint, (this.#inFlight.get(endpoint) ?? 1) - 1);
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#lag.stop();
  }

  #watch(): void {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
    this.#lag.start();
    this.#idleTicks = 0;
    this.#markedAt = performance.now();
    this.#readClocks();
  }

  #tick(): void {
    this.#mark();
    this.#readClocks();
    this.#idleTicks = this.#begunSinceTick || this.#endpointsInFlight.length > 0 ? 0 : this.#idleTicks + 1;
    this.#begunSinceTick = false;
    if (this.#idleTicks > IDLE_TICKS_MAX) this.close();
  }

  #readClocks(): void {
    const now = performance.now();
    this.#dueAt = now + TICK_MS;
    this.#read = { at: now, processorMs: processorMs() };
  }

  #mark(ending?: string): void {
    const now = performance.now();
    const from = Math.max(this.#markedAt, this.#dueAt);
    this.#markedAt = now;
    if (now - from < NOTICED_MS) return;
    // Before the stretch, at most all of the time since the last reading was spent.
    const ms = processorMs() - this.#read.processorMs - (from - this.#read.at);
    this.#nextPeriod(now);
    if (ms > this.#longest.ms) this.#longest.ms = ms;
    if (ms <= TURN_MS_MAX || now - this.#loggedAt < LOGGED_EVERY_MS) return;
    this.#loggedAt = now;
    const others = this.#endpointsInFlight.filter((name) => name !== ending);
    const endpoints = [...(ending === undefined ? [] : [ending]), ...others].slice(0, NAMED_MAX);
    const line = { turn_ms: Math.round(ms), endpoints, what_to_do: ADVICE };
    this.#log.warn(line, 'one turn of the event loop took too long');
  }

  get #endpointsInFlight(): string[] {
    return [...this.#inFlight].flatMap(([endpoint, count]) => (count > 0 ? [endpoint] : []));
  }

  #nextPeriod(now: number): void {
    if (now - this.#longest.since < PERIOD_MS) return;
    const isRecent = now - this.#longest.since < 2 * PERIOD_MS;
    this.#longest = { since: now, ms: 0, lastMs: isRecent ? this.#longest.ms : 0 };
  }
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
