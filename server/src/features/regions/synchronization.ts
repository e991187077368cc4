import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import type { Contacts } from './contacts.ts';
import type { Vector } from './crdt/vector.ts';
import type { Directory } from './directory.ts';
import type { Exchange } from './exchange.ts';
import type { RegionKernel } from './links.ts';
import type { Promotions } from './promotions.ts';
import type { Publication } from './publication.ts';
import type { RegionConfig, RegionPeer } from './settings.ts';

export const ROUND_MS = 2 * SECOND_MS;
const DIGEST_MS = MINUTE_MS;
const PUBLISH_MS = 10 * SECOND_MS;
/** Digests may differ while something is on its way. */
const DIFFERENCES_MAX = 3;
/** Comparisons between two attempts to merge a whole directory that stays different: merging it costs both regions. */
const MERGE_AGAIN_EVERY = 15;
/** Pages of one pull; the rest follows in the next round. */
const PAGES_MAX = 100;

interface Parts {
  kernel: RegionKernel;
  config: RegionConfig;
  directory: Directory;
  contacts: Contacts;
  exchange: Exchange;
  promotions: Promotions;
  publication: Publication;
}

/**
 * Pulls from every other region, all the time. Each node does it by itself and not as a leased job: a node must know that it is still connected, and
 * a long job must never delay that. Merging twice changes nothing.
 */
export class Synchronization {
  readonly #parts: Parts;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  /**
   * What each region has sent to this process. It begins empty, so that every process merges all of the directory once: a vector of the database
   * could be changed there, and rows that it claims to include could be missing.
   */
  readonly #received = new Map<string, Vector>();
  readonly #failing = new Map<string, string>();
  readonly #held = new Map<string, string>();
  readonly #leases = new Map<string, number>();
  readonly #comparedAt = new Map<string, number>();
  #publishedAt = Number.NEGATIVE_INFINITY;
  #loop: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#log = parts.kernel.log;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let isComplete = true;
      try {
        isComplete = await this.round();
      } catch (error) {
        this.#log.warn({ err: error }, 'synchronizing with other regions failed; retrying');
      }
      if (isComplete) await sleep(ROUND_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Merges everything that the other regions know again, in the next round. */
  pullAll(): void {
    this.#received.clear();
  }

  /**
   * Publishes what changed here, pulls from every other region at the same time, and continues promotions. Returns whether that was all; if not, the
   * next round follows at once.
   */
  async round(): Promise<boolean> {
    const { config, promotions, kernel, publication } = this.#parts;
    if (kernel.time.elapsed() - this.#publishedAt >= PUBLISH_MS) {
      this.#publishedAt = kernel.time.elapsed();
      await publication.publish();
    }
    const pulls = await Promise.all(config.peers.map((peer) => this.#contact(peer)));
    await promotions.advance();
    return pulls.every((isComplete) => isComplete);
  }

  /** Returns false if there is more to pull. */
  async #contact(peer: RegionPeer): Promise<boolean> {
    const { contacts, kernel } = this.#parts;
    try {
      const confirmedAt = contacts.moment();
      const pulled = await this.#pull(peer);
      // What is left may say that another region has taken over, so this is no contact yet.
      // What was left out is pulled again from the beginning, which must not become a busy loop.
      if (pulled === null) return (this.#held.get(peer.name) ?? '') !== '';
      this.#warnIfShorter(peer, pulled.leaseMs);
      contacts.noteComplete(peer.name, { confirmedAt, ...pulled });
      if (this.#failing.delete(peer.name)) this.#log.info({ region: peer.name }, 'a region can be reached again');
    } catch (error) {
      if (this.#stopping.signal.aborted) return true;
      const problem = (error as Error).message;
      if (this.#failing.get(peer.name) !== problem)
        this.#log.warn(
          { region: peer.name, problem, err: kernel.config.logLevel === 'debug' ? error : undefined },
          FAILED,
        );
      this.#failing.set(peer.name, problem);
    }
    return true;
  }

  /** Until the lengths are equal, the shorter one counts, and 0 is the shortest. */
  #warnIfShorter({ name }: RegionPeer, leaseMs: number): void {
    if (leaseMs >= this.#parts.config.leaseMs || this.#leases.get(name) === leaseMs) return;
    this.#leases.set(name, leaseMs);
    this.#log.warn({ region: name, lease_ms: leaseMs, what_to_do: SAME_LEASE }, 'a region has a shorter lease');
  }

  /** Pulls what is left and compares digests; null if there is more than one round takes. */
  async #pull(peer: RegionPeer): Promise<{ differences: number; leaseMs: number } | null> {
    const { contacts, kernel } = this.#parts;
    const leaseMs = await this.#pullRest(peer);
    if (leaseMs === null) return null;
    const before = contacts.differences(peer.name);
    const comparedAt = this.#comparedAt.get(peer.name) ?? Number.NEGATIVE_INFINITY;
    if (kernel.time.elapsed() - comparedAt < DIGEST_MS) return { differences: before, leaseMs };
    this.#comparedAt.set(peer.name, kernel.time.elapsed());
    if (await this.#isEqual(peer)) return { differences: 0, leaseMs };
    const differences = before + 1;
    if (differences % MERGE_AGAIN_EVERY !== DIFFERENCES_MAX) return { differences, leaseMs };
    this.#log.warn({ region: peer.name }, 'the directory of a region differs; all of it is merged again');
    this.#received.delete(peer.name);
    if ((await this.#pullRest(peer)) === null) return null;
    if (await this.#isEqual(peer)) return { differences: 0, leaseMs };
    this.#log.error({ region: peer.name, what_to_do: STILL_DIFFERENT }, 'the directory of a region stays different');
    return { differences, leaseMs };
  }

  async #isEqual(peer: RegionPeer): Promise<boolean> {
    const { directory, kernel, exchange } = this.#parts;
    const digestAt = kernel.clock.now() + HOUR_MS;
    const { digest } = await exchange.pull(peer, await directory.vector(), digestAt);
    return digest === (await directory.digest(digestAt));
  }

  /** Returns the lease of the region once that was all; null if there is more. */
  async #pullRest(peer: RegionPeer): Promise<number | null> {
    const { directory, exchange, contacts } = this.#parts;
    const begun = this.#received.get(peer.name) ?? new Map();
    let held: ReadonlySet<string> = new Set();
    let known = begun;
    let problem: Error | null = null;
    for (let page = 0; page < PAGES_MAX && !this.#stopping.signal.aborted; page++) {
      const received = await exchange.pull(peer, known, null);
      const { vector, complete, lease_ms } = received;
      contacts.noteReached(peer.name);
      const result = await directory.mergePage(peer.name, received, vector.get(peer.name) ?? null, held);
      held = result.held;
      problem ??= result.problem;
      known = vector;
      this.#received.set(peer.name, withoutHeld(vector, held, begun));
      if (!complete) continue;
      this.#noteHeld(peer, held);
      if (problem !== null) throw problem;
      return lease_ms;
    }
    this.#noteHeld(peer, held);
    return null;
  }

  #noteHeld({ name }: RegionPeer, held: ReadonlySet<string>): void {
    const origins = [...held].sort().join(', ');
    if (origins !== '' && this.#held.get(name) !== origins)
      this.#log.warn({ region: name, origins }, 'some of what a region passes on is not accepted; it is pulled again');
    this.#held.set(name, origins);
  }
}

/** Where to go on, so that what was left out of some origins is sent again. */
function withoutHeld(vector: Vector, held: ReadonlySet<string>, begun: Vector): Vector {
  return new Map([...vector].map(([origin, seq]) => [origin, held.has(origin) ? (begun.get(origin) ?? 0) : seq]));
}

const FAILED = 'a region cannot be reached or refused; retrying';
const STILL_DIFFERENT =
  'One of the two does not accept what the other has: look for refusals in both logs, and compare CV_REGIONS, CV_REGION_PEERS and releases. Merging is tried again every quarter of an hour.';
const SAME_LEASE =
  'Set CV_REGION_LEASE_SECONDS to the same number in all regions. Until then the shorter one counts, and with 0 in one region the others cannot rely on it.';
