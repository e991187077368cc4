import type { Principal } from '../../auth/principal.ts';
import { type Clock, timestamp } from '../../base/clock.ts';
import type { AuditEntry } from '../entry/entry.ts';
import { systemEntry } from '../entry/system-entry.ts';

/** Vaults counted separately between two summaries. Reads in further vaults are counted together, per tenant. */
const VAULTS_MAX = 5000;
const OTHER_VAULTS = '*';
/** Readers named in a summary, in the order of their first read. The others are counted together. */
const READERS_MAX = 10;

interface Reader {
  kind: Principal['kind'];
  id: string;
  name: string;
  reads: number;
}

interface Count {
  tenantId: string;
  vault: string;
  since: number;
  reads: number;
  readers: Map<string, Reader>;
}

/**
 * Counts the reads of vaults that do not record them one by one, and records the counts as one entry per vault and minute: the log shows how much
 * was read and by whom, but not what. The counts are in memory until then, so a kill loses at most one minute of them.
 */
export class UnlistedReads {
  readonly #record: (entry: AuditEntry) => Promise<void>;
  readonly #clock: Clock;
  #counts = new Map<string, Count>();

  constructor(record: (entry: AuditEntry) => Promise<void>, clock: Clock) {
    this.#record = record;
    this.#clock = clock;
  }

  count({ tenantId, kind, id, name }: Principal, vault: string, reads: number): void {
    const count = this.#countOf(tenantId, vault);
    count.reads += reads;
    const reader = count.readers.get(id);
    if (reader !== undefined) reader.reads += reads;
    else if (count.readers.size < READERS_MAX) count.readers.set(id, { kind, id, name, reads });
  }

  #countOf(tenantId: string, name: string): Count {
    const known = this.#counts.get(`${tenantId} ${name}`);
    if (known !== undefined) return known;
    const vault = this.#counts.size < VAULTS_MAX ? name : OTHER_VAULTS;
    const slot = `${tenantId} ${vault}`;
    const count = this.#counts.get(slot) ?? {
      tenantId,
      vault,
      since: this.#clock.now(),
      reads: 0,
      readers: new Map(),
    };
    this.#counts.set(slot, count);
    return count;
  }

  /** Counts that cannot be recorded are held and retried with the next summary. */
  async flush(): Promise<void> {
    const counts = this.#counts;
    this.#counts = new Map();
    const written = await Promise.allSettled([...counts.values()].map((count) => this.#record(this.#entryOf(count))));
    const failed = [...counts.values()].filter((_, i) => written[i]?.status === 'rejected');
    for (const count of failed) this.#putBack(count);
    const failure = written.find((one) => one.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
  }

  #putBack(count: Count): void {
    const present = this.#countOf(count.tenantId, count.vault);
    present.since = Math.min(present.since, count.since);
    present.reads += count.reads;
    for (const [id, reader] of count.readers) {
      const known = present.readers.get(id);
      if (known !== undefined) known.reads += reader.reads;
      else if (present.readers.size < READERS_MAX) present.readers.set(id, reader);
    }
  }

  #entryOf({ tenantId, vault, since, reads, readers }: Count): AuditEntry {
    const by = [...readers.values()];
    const byOthers = reads - by.reduce((sum, reader) => sum + reader.reads, 0);
    return systemEntry({
      tenantId,
      actorId: 'unlisted-reads',
      action: 'secrets:reads_counted',
      resource: `vault/${vault}`,
      status: 200,
      details: { reads, since: timestamp(since), by, by_others: byOthers },
      now: this.#clock.now(),
    });
  }
}
