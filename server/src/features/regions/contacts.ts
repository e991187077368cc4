import { MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import type { TimeSources } from '../../kernel/time/sources.ts';
import type { RegionConfig } from './settings.ts';

/** A region that was not reached for this long counts as unreachable. */
export const UNREACHABLE_MS = MINUTE_MS;
/** Clocks of two machines may run apart by this share while a lease lasts. */
const DRIFT = 1.1;

/**
 * How many regions, this one included, must have noted an epoch before it is used, and how many a region must have reached to rely on what it
 * knows. Any two such groups have a region in common, so a region that is replaced learns of it, or stops when its lease ends.
 */
export function quorums(regions: number): { toPromote: number; toServe: number } {
  const toPromote = Math.ceil(regions / 2);
  return { toPromote, toServe: regions - toPromote + 1 };
}

/** How long a promotion waits, once regions with these leases have noted it, for a former region that cannot be reached. */
export function waitMs(leases: readonly number[]): number {
  const longest = Math.max(0, ...leases);
  return longest === 0 ? 0 : Math.ceil(longest * DRIFT) + SECOND_MS;
}

/** Two clocks of this machine may differ by this much, because one of them may count whole seconds. */
const CLOCKS_APART_MAX_MS = 2 * SECOND_MS;

/** A moment by both clocks of this machine, neither of which can be set. */
export interface Moment {
  readonly elapsed: number;
  readonly uptime: number;
}

interface Contact {
  /** How long that region waits for a former primary region that it cannot reach. */
  leaseMs: number;
  /** When the last pull began that ended complete; null if there was none. */
  confirmedAt: Moment | null;
  /** When the region last sent a page. */
  reachedAt: number;
  /** How often in a row its directory had another digest. */
  differences: number;
}

const NEVER: Contact = { leaseMs: 0, confirmedAt: null, reachedAt: -Infinity, differences: 0 };

/**
 * When this process last reached each other region, by two clocks of its machine, and the lease that follows from it. The monotonic clock stands
 * still while the machine is suspended, and the uptime does not, so the later one counts. If they have come apart since a contact, the machine was
 * suspended or one of them is wrong, and the contact counts no more: the next complete pull takes its place.
 *
 * The lease must hold although the database is not trusted and any wall clock may be set, so nothing of it is stored. Every node of a region has a
 * lease of its own, from its own complete pulls: a pull is complete once everything that the other region knew when it began is merged into the
 * database, which all nodes of this region share, and every change reads the primary region there in its own transaction. So a node with a lease
 * relies on what it has seen itself, and a node that cannot reach the others refuses changes even while its neighbours do not. Nothing has to be
 * agreed between nodes. A process that starts has no lease until its first complete pulls, which begin with an empty vector (`Synchronization`).
 *
 * Regions may be configured with different lengths. A region relies on a contact for no longer than its own length and that of the other region,
 * and a promotion waits for the longest of the regions that have noted it. One of those is in both groups, so the wait is never the shorter one.
 */
export class Contacts {
  readonly #config: RegionConfig;
  readonly #time: Pick<TimeSources, 'elapsed' | 'uptime'>;
  readonly #openedAt: number;
  readonly #contacts = new Map<string, Contact>();

  constructor(config: RegionConfig, time: Pick<TimeSources, 'elapsed' | 'uptime'>) {
    this.#config = config;
    this.#time = time;
    this.#openedAt = time.elapsed();
  }

  /** For waits, which must not be too short: time in which the machine was suspended does not count. */
  elapsed(): number {
    return this.#time.elapsed();
  }

  moment(): Moment {
    return { elapsed: this.#time.elapsed(), uptime: this.#time.uptime() };
  }

  hasLease(): boolean {
    const { leaseMs, peers } = this.#config;
    if (leaseMs === 0 || peers.length === 0) return true;
    const needed = quorums(peers.length + 1).toServe - 1;
    if (needed === 0) return true;
    const now = this.moment();
    return peers.filter(({ name }) => this.#isCurrent(name, now)).length >= needed;
  }

  /** Whether this process has merged what enough other regions know, however long ago. */
  hasPulled(): boolean {
    const { leaseMs, peers } = this.#config;
    const pulled = peers.filter(({ name }) => this.#of(name).confirmedAt !== null).length;
    return leaseMs === 0 || pulled >= quorums(peers.length + 1).toServe - 1;
  }

  #isCurrent(region: string, now: Moment): boolean {
    const { confirmedAt, leaseMs } = this.#of(region);
    return confirmedAt !== null && passedMs(confirmedAt, now) < Math.min(leaseMs, this.#config.leaseMs);
  }

  isReachable(region: string): boolean {
    return this.elapsed() - this.#of(region).reachedAt < UNREACHABLE_MS;
  }

  differences(region: string): number {
    return this.#of(region).differences;
  }

  /** Seconds since the directory of each other region was merged, or since this process started. */
  lags(): { peer: string; value: number }[] {
    return this.#config.peers.map(({ name }) => {
      const at = this.#of(name).confirmedAt?.elapsed ?? this.#openedAt;
      return { peer: name, value: Math.max(0, (this.elapsed() - at) / SECOND_MS) };
    });
  }

  noteReached(region: string): void {
    this.#contacts.set(region, { ...this.#of(region), reachedAt: this.elapsed() });
  }

  /** `confirmedAt`: when the pull began. What the region learned since then is not included. */
  noteComplete(region: string, complete: Pick<Contact, 'confirmedAt' | 'leaseMs' | 'differences'>): void {
    this.#contacts.set(region, { ...this.#of(region), ...complete });
  }

  #of(region: string): Contact {
    return this.#contacts.get(region) ?? NEVER;
  }
}

/** How much time has passed at most; infinite if the clocks disagree, or one of them is missing. */
function passedMs(since: Moment, now: Moment): number {
  const elapsed = now.elapsed - since.elapsed;
  const uptime = now.uptime - since.uptime;
  return Math.abs(uptime - elapsed) <= CLOCKS_APART_MAX_MS ? Math.max(elapsed, uptime) : Number.POSITIVE_INFINITY;
}
