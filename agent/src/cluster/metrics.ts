import { createServer, type Server } from 'node:http';
import type { ApplyResult } from './reconcile.ts';

const STATES = ['applied', 'unchanged', 'failed', 'pruned'] as const;
/** A leader without a success for this many intervals is reported as not ready. */
const LATE_INTERVALS = 5;

/** What the operator did, for Prometheus and for probes. Numbers only. */
export class OperatorMetrics {
  readonly #intervalSeconds: number;
  readonly #now: () => number;
  readonly #startedAt: number;
  #isLeader = false;
  #succeededAt: number | null = null;
  #generation = 0;
  #failures = 0;
  #rounds = 0;
  #states: Record<string, number> = {};

  constructor(intervalSeconds: number, now: () => number = Date.now) {
    this.#intervalSeconds = intervalSeconds;
    this.#now = now;
    this.#startedAt = now();
  }

  setLeader(isLeader: boolean): void {
    if (isLeader && !this.#isLeader) this.#succeededAt = null;
    this.#isLeader = isLeader;
  }

  reconciled(generation: number, results: readonly ApplyResult[]): void {
    this.#rounds++;
    this.#generation = generation;
    this.#succeededAt = this.#now();
    this.#states = {};
    for (const { state } of results) this.#states[state] = (this.#states[state] ?? 0) + 1;
  }

  failed(): void {
    this.#failures++;
  }

  /** A replica that waits for the Lease is ready. */
  get isReady(): boolean {
    const since = this.#now() - (this.#succeededAt ?? this.#startedAt);
    return !this.#isLeader || since < LATE_INTERVALS * this.#intervalSeconds * 1000;
  }

  text(): string {
    const lines: [name: string, kind: string, values: string[]][] = [
      ['coffer_operator_leader', 'gauge', [` ${Number(this.#isLeader)}`]],
      ['coffer_operator_generation', 'gauge', [` ${this.#generation}`]],
      ['coffer_operator_reconciles_total', 'counter', [` ${this.#rounds}`]],
      ['coffer_operator_failures_total', 'counter', [` ${this.#failures}`]],
      ['coffer_operator_last_success_seconds', 'gauge', [` ${(this.#succeededAt ?? 0) / 1000}`]],
      ['coffer_operator_secrets', 'gauge', STATES.map((state) => `{state="${state}"} ${this.#states[state] ?? 0}`)],
    ];
    return lines
      .map(([name, kind, values]) => `# TYPE ${name} ${kind}\n${values.map((value) => `${name}${value}\n`).join('')}`)
      .join('');
  }
}

/** Answers probes and Prometheus. */
export function listenForProbes(metrics: OperatorMetrics, port: number): Promise<Server> {
  const server = createServer({ requestTimeout: 5000, headersTimeout: 5000 }, (request, response) => {
    const answers: Record<string, () => [number, string]> = {
      '/healthz': () => [200, 'ok\n'],
      '/readyz': () => (metrics.isReady ? [200, 'ok\n'] : [503, 'no success for some time\n']),
      '/metrics': () => [200, metrics.text()],
    };
    const [status, body] = (request.method === 'GET' ? answers[request.url ?? ''] : undefined)?.() ?? [404, ''];
    response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(body);
  });
  const { promise, resolve, reject } = Promise.withResolvers<Server>();
  server.once('error', reject).listen(port, () => resolve(server));
  return promise;
}
