import { MINUTE_MS, SECOND_MS } from '../../kernel/platform/clock.ts';
import type { RegionConfig } from '../../kernel/platform/config.ts';
import type { Database } from '../../kernel/storage/database.ts';
import type { TimeSources } from '../../kernel/time/sources.ts';
import { type ContactRow, putContact, readContacts } from './directory-store.ts';

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

/** When each other region was last reached. The database has it for all nodes of this region; times are those of the database's clock. */
export class Contacts {
  readonly #config: RegionConfig;
  readonly #database: Database;
  readonly #time: Pick<TimeSources, 'now' | 'elapsed' | 'ofDatabase'>;
  #contacts = new Map<string, ContactRow>();
  /** The database's time at a moment of this process. */
  #reading = { database: 0, elapsed: Number.NEGATIVE_INFINITY };
  #leaseUntil = Number.NEGATIVE_INFINITY;

  constructor(config: RegionConfig, database: Database, time: Pick<TimeSources, 'now' | 'elapsed' | 'ofDatabase'>) {
    this.#config = config;
    this.#database = database;
    this.#time = time;
  }

  /** The clock that contacts are measured with. */
  async now(): Promise<number> {
    return Math.floor((await this.#time.ofDatabase(this.#database)) ?? this.#time.now());
  }

  /** Loads what any node of this region noted. Called in every round of the synchronization, so that the lease of each node is known without a query. */
  async refresh(): Promise<void> {
    const elapsed = this.#time.elapsed();
    const database = await this.now();
    const rows = await readContacts(this.#database.read);
    this.#contacts = new Map(rows.map((row) => [row.region, row]));
    this.#reading = { database, elapsed };
    const { leaseMs, peers } = this.#config;
    const needed = quorums(peers.length + 1).toServe - 1;
    const times = peers.map(({ name }) => this.#contacts.get(name)?.contacted_at ?? 0).sort((a, b) => b - a);
    const confirmedAt = needed === 0 ? database : (times[needed - 1] ?? 0);
    // A time in the future comes from a clock that was set back since; it confirms nothing.
    this.#leaseUntil = confirmedAt > database ? Number.NEGATIVE_INFINITY : elapsed + confirmedAt + leaseMs - database;
  }

  hasLease(): boolean {
    return this.#config.leaseMs === 0 || this.#config.peers.length === 0 || this.#time.elapsed() < this.#leaseUntil;
  }

  /** How long a promotion waits for a former region that cannot be reached. */
  get waitMs(): number {
    return Math.ceil(this.#config.leaseMs * DRIFT) + (this.#config.leaseMs === 0 ? 0 : SECOND_MS);
  }

  isReachable(region: string): boolean {
    const contact = this.#contacts.get(region);
    if (contact === undefined) return false;
    return this.#now() - contact.contacted_at < UNREACHABLE_MS;
  }

  get(region: string): ContactRow | undefined {
    return this.#contacts.get(region);
  }

  /** Seconds since each other region was reached. */
  lags(): { peer: string; value: number }[] {
    return this.#config.peers.map(({ name }) => {
      const at = this.#contacts.get(name)?.contacted_at ?? 0;
      return { peer: name, value: Math.max(0, (this.#now() - at) / SECOND_MS) };
    });
  }

  async note(region: string, contact: Pick<ContactRow, 'contacted_at' | 'differences'>): Promise<void> {
    const row = { region, ...contact, failed_since: null, last_error: null };
    await this.#database.transaction((tx) => putContact(tx, row));
  }

  async noteFailure(region: string, error: string): Promise<void> {
    const before = this.#contacts.get(region);
    const row = {
      region,
      contacted_at: before?.contacted_at ?? 0,
      differences: before?.differences ?? 0,
      failed_since: before?.failed_since ?? (await this.now()),
      last_error: error,
    };
    await this.#database.transaction((tx) => putContact(tx, row));
  }

  #now(): number {
    return this.#reading.database + this.#time.elapsed() - this.#reading.elapsed;
  }
}
