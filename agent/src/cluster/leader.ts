import { type KubeClient, KubeError, type KubeObject, leasesPath } from './kube-client.ts';

interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

interface Lease extends KubeObject {
  spec?: LeaseSpec;
}

export const LEASE_NAME = 'coffer-operator';
export const LEASE_SECONDS = 15;
/** A leader that could not renew for this long stops before another one may begin. */
export const RENEW_SECONDS = 10;
export const RETRY_SECONDS = 2;

/** One replica at a time holds the Lease. Clocks of other machines are not compared: only how long a Lease has not changed counts. */
export class LeaderElection {
  readonly #kube: KubeClient;
  readonly #namespace: string;
  readonly #identity: string;
  readonly #elapsedMs: () => number;
  #observed: { version: string; atMs: number } | null = null;
  #renewedAtMs: number | null = null;
  #leading = new AbortController();

  constructor(
    kube: KubeClient,
    { namespace, identity }: { namespace: string; identity: string },
    elapsedMs: () => number = () => performance.now(),
  ) {
    this.#kube = kube;
    this.#namespace = namespace;
    this.#identity = identity;
    this.#elapsedMs = elapsedMs;
  }

  get isLeader(): boolean {
    return this.#renewedAtMs !== null && this.#elapsedMs() - this.#renewedAtMs < RENEW_SECONDS * 1000;
  }

  /** Aborted when this replica stops being the leader. */
  get signal(): AbortSignal {
    return this.#leading.signal;
  }

  /** Takes or renews the Lease if it can. Failing to reach the API server throws, after giving up what is too old. */
  async tick(signal: AbortSignal): Promise<boolean> {
    const requestedAtMs = this.#elapsedMs();
    try {
      if (await this.#tryHold(signal)) this.#lead(requestedAtMs);
      else this.#resign();
    } catch (error) {
      if (!this.isLeader) this.#resign();
      throw error;
    }
    return this.isLeader;
  }

  /** Lets another replica begin at once. */
  async release(signal: AbortSignal): Promise<void> {
    const wasLeader = this.isLeader;
    this.#resign();
    if (!wasLeader) return;
    const lease = await this.#kube.find<Lease>(leasesPath(this.#namespace, LEASE_NAME), signal);
    if (lease?.spec?.holderIdentity !== this.#identity) return;
    await this.#kube.replace(leasesPath(this.#namespace, LEASE_NAME), this.#held(lease, ''), signal);
  }

  async #tryHold(signal: AbortSignal): Promise<boolean> {
    const path = leasesPath(this.#namespace, LEASE_NAME);
    const lease = await this.#kube.find<Lease>(path, signal);
    try {
      if (lease === null)
        await this.#kube.create(leasesPath(this.#namespace), this.#held(null, this.#identity), signal);
      else if (this.#mayTake(lease)) await this.#kube.replace(path, this.#held(lease, this.#identity), signal);
      else return false;
      return true;
    } catch (error) {
      // Another replica was faster.
      if (error instanceof KubeError && error.status === 409) return false;
      throw error;
    }
  }

  #mayTake({ metadata, spec }: Lease): boolean {
    const version = metadata.resourceVersion ?? '';
    if (this.#observed?.version !== version) this.#observed = { version, atMs: this.#elapsedMs() };
    const holder = spec?.holderIdentity ?? '';
    if (holder === '' || holder === this.#identity) return true;
    const seconds = spec?.leaseDurationSeconds ?? LEASE_SECONDS;
    return this.#elapsedMs() - this.#observed.atMs > seconds * 1000;
  }

  #held(lease: Lease | null, holder: string): Lease {
    const now = `${new Date().toISOString().slice(0, -1)}000Z`;
    const isSame = lease?.spec?.holderIdentity === holder;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { ...lease?.metadata, name: LEASE_NAME, namespace: this.#namespace },
      spec: {
        holderIdentity: holder,
        leaseDurationSeconds: LEASE_SECONDS,
        acquireTime: isSame ? (lease?.spec?.acquireTime ?? now) : now,
        renewTime: now,
        leaseTransitions: (lease?.spec?.leaseTransitions ?? 0) + (lease === null || isSame ? 0 : 1),
      },
    };
  }

  #lead(requestedAtMs: number): void {
    if (this.#leading.signal.aborted) this.#leading = new AbortController();
    this.#renewedAtMs = requestedAtMs;
  }

  #resign(): void {
    this.#renewedAtMs = null;
    this.#leading.abort();
  }
}
