import { createHash } from 'node:crypto';
import { CofferClient, RefusedError, TokenFileError } from '../coffer-client.ts';
import { NoAnswerError } from '../http-client.ts';
import type { Log } from '../log.ts';
import { nextScanSeconds, pause, type Random, retrySeconds, systemRandom } from '../schedule.ts';
import type { Settings } from '../settings.ts';
import { checkedState, type DesiredState, DoubtfulStateError } from './desired-state.ts';
import { deploymentsPath, KubeClient, KubeError, type KubeObject } from './kube-client.ts';
import { LeaderElection, RETRY_SECONDS } from './leader.ts';
import type { OperatorMetrics } from './metrics.ts';
import { CHECKSUM, type Reconciled, reconcile } from './reconcile.ts';

export interface OperatorOptions {
  settings: Settings;
  log: Log;
  metrics: OperatorMetrics;
  signal: AbortSignal;
  random?: Random;
}

interface Deployment extends KubeObject {
  spec?: { template?: { metadata?: { annotations?: Record<string, string> } } };
}

/** On a Deployment: the Secrets at whose change its pods are replaced, separated by commas. */
export const RESTART_ON = 'coffer.dev/restart-on';
export const RESTARTED_FOR = 'coffer.dev/restarted-for';
/** The service delivers at most 16 MiB of values, which base64 and JSON make larger. */
const STATE_BYTES_MAX = 64 * 1024 * 1024;
/** As many as the service takes in one report. */
const RESULTS_MAX = 3000;

/** Keeps the Secrets of a cluster as the service says. */
export class Operator {
  readonly #options: OperatorOptions;
  readonly #coffer: CofferClient;
  readonly #kube: KubeClient;
  readonly #election: LeaderElection;
  #last: { etag: string; state: DesiredState } | null = null;

  constructor(options: OperatorOptions) {
    this.#options = options;
    this.#coffer = new CofferClient(options.settings);
    this.#kube = new KubeClient(options.settings.operator);
    this.#election = new LeaderElection(this.#kube, options.settings.operator);
  }

  /** Works until it is told to stop. True if nothing failed in the last round. */
  async run(): Promise<boolean> {
    const { settings, signal } = this.#options;
    if (settings.isOnce) return this.#runOnce();
    const campaign = this.#campaign();
    let isDone = true;
    for (let failures = 0; !signal.aborted; ) {
      if (!this.#election.isLeader) {
        await pause(RETRY_SECONDS / 2, signal);
        continue;
      }
      const failure = await this.#round(AbortSignal.any([signal, this.#election.signal]));
      isDone = failure === null;
      failures = isDone ? 0 : failures + 1;
      await pause(this.#waitSeconds(failures, failure?.retryAfterSeconds ?? null), signal);
    }
    await campaign;
    return isDone;
  }

  /** One round, unless another replica holds the Lease. */
  async #runOnce(): Promise<boolean> {
    const { signal, log } = this.#options;
    try {
      if (!(await this.#election.tick(signal))) throw new KubeError(409, 'AnotherLeader');
    } catch (error) {
      log.error(`the Lease could not be taken: ${describe(error)}`);
      return false;
    }
    const failure = await this.#round(AbortSignal.any([signal, this.#election.signal]));
    await this.#giveBack();
    return failure === null;
  }

  #waitSeconds(failures: number, retryAfterSeconds: number | null): number {
    const { settings, random = systemRandom } = this.#options;
    if (failures === 0) return nextScanSeconds(settings.intervalSeconds, random);
    return retrySeconds(failures, settings.intervalSeconds, retryAfterSeconds, random);
  }

  /** Holds the Lease while the operator runs, and gives it back at the end. */
  async #campaign(): Promise<void> {
    const { signal, log, metrics } = this.#options;
    let wasLeader = false;
    while (!signal.aborted) {
      const isLeader = await this.#election.tick(signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn(`the Lease could not be renewed: ${describe(error)}`);
        return this.#election.isLeader;
      });
      if (isLeader !== wasLeader) log.info(isLeader ? 'this replica is the leader' : 'another replica is the leader');
      wasLeader = isLeader;
      metrics.setLeader(isLeader);
      await pause(RETRY_SECONDS, signal);
    }
    await this.#giveBack();
  }

  /** If it fails, another replica waits until the Lease runs out. */
  async #giveBack(): Promise<void> {
    await this.#election.release(AbortSignal.timeout(RETRY_SECONDS * 1000)).catch((error: unknown) => {
      this.#options.log.warn(`the Lease could not be given back: ${describe(error)}`);
    });
  }

  /** Null if everything is as it should be. */
  async #round(signal: AbortSignal): Promise<{ retryAfterSeconds: number | null } | null> {
    const { log, metrics } = this.#options;
    try {
      const state = await this.#fetch(signal);
      const reconciled = await reconcile(this.#scope(signal), state);
      const restartsFailed = await this.#restart(reconciled, signal);
      await this.#report(state, reconciled, signal);
      const failed = reconciled.results.filter((result) => result.state === 'failed').length + restartsFailed;
      metrics.reconciled(state.generation, reconciled.results);
      log.info('reconciled', { generation: state.generation, secrets: reconciled.results.length, failed });
      return failed === 0 ? null : { retryAfterSeconds: null };
    } catch (error) {
      if (signal.aborted) return { retryAfterSeconds: null };
      metrics.failed();
      log.error(describe(error));
      return { retryAfterSeconds: error instanceof RefusedError ? error.retryAfterSeconds : null };
    }
  }

  #scope(signal: AbortSignal) {
    const { clusterId, operator } = this.#options.settings;
    return { kube: this.#kube, clusterId, namespaces: operator.namespaces, signal };
  }

  async #fetch(signal: AbortSignal): Promise<DesiredState> {
    const { clusterId } = this.#options.settings;
    const last = this.#last;
    const answer = await this.#coffer.send({
      method: 'GET',
      path: `/clusters/${clusterId}/desired-state`,
      signal,
      bytesMax: STATE_BYTES_MAX,
      ...(last !== null && { headers: { 'if-none-match': last.etag }, accepts: [304] }),
    });
    if (answer.status === 304 && last !== null) return last.state;
    const state = checkedState(answer.body, clusterId, last?.state.generation ?? 0);
    this.#last = answer.headers.etag === undefined ? null : { etag: answer.headers.etag, state };
    return state;
  }

  async #report({ generation }: DesiredState, { results }: Reconciled, signal: AbortSignal): Promise<void> {
    const { clusterId } = this.#options.settings;
    // What failed comes first, so that it is never what is left out.
    const sorted = results.toSorted((a, b) => Number(b.state === 'failed') - Number(a.state === 'failed'));
    const body = { generation, results: sorted.slice(0, RESULTS_MAX) };
    await this.#coffer.send({ method: 'POST', path: `/clusters/${clusterId}/status`, body, signal });
  }

  /** Replaces the pods of Deployments that ask for it. Returns how many could not be changed. */
  async #restart({ secrets }: Reconciled, signal: AbortSignal): Promise<number> {
    const { operator } = this.#options.settings;
    if (!operator.restartsDeployments) return 0;
    let failed = 0;
    for (const namespace of operator.namespaces) {
      for (const { metadata, spec } of await this.#kube.list<Deployment>(deploymentsPath(namespace), '', signal)) {
        const names = (metadata.annotations?.[RESTART_ON] ?? '').split(',').map((name) => name.trim());
        const used = names.map((name) => secrets.get(`${namespace}/${name}`)).filter((one) => one !== undefined);
        if (used.length === 0) continue;
        // A plain checksum would let readers of the Deployment test guesses; the uid is known only to readers of the Secret.
        const parts = used.map((secret) => [secret.metadata.uid, secret.metadata.annotations?.[CHECKSUM]]);
        const version = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
        if (spec?.template?.metadata?.annotations?.[RESTARTED_FOR] === version) continue;
        const change = { spec: { template: { metadata: { annotations: { [RESTARTED_FOR]: version } } } } };
        try {
          await this.#kube.merge(deploymentsPath(namespace, metadata.name), change, signal);
        } catch (error) {
          if (!(error instanceof KubeError)) throw error;
          failed++;
          this.#options.log.error(`a Deployment could not be restarted: ${error.message}`, { namespace });
        }
      }
    }
    return failed;
  }
}

const OWN_ERRORS = [RefusedError, TokenFileError, NoAnswerError, KubeError, DoubtfulStateError];

/** Only texts that we wrote ourselves are logged: others may quote a value. */
function describe(error: unknown): string {
  if (OWN_ERRORS.some((kind) => error instanceof kind)) return (error as Error).message;
  const { code, name } = error as { code?: string; name?: string };
  return `the round failed (${code ?? name ?? 'unknown'})`;
}
