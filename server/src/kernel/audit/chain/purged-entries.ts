import { hash } from 'node:crypto';
import { entryOf } from '../entry/entry.ts';
import type { BrokenLink } from './chain.ts';

/** The action of the entry that records a purge. */
export const PURGE_ACTION = 'audit:purge';

/** Purges whose record has not been found yet while a chain is read. Each usually removed many entries. */
const OPEN_MAX = 500_000;

/** Replaces entries that a purge removed from a segment. Their hashes stay. */
export interface PurgedRun {
  /** The id of the entry that records the purge. */
  purged_by: string;
  /** The number of consecutive entries. */
  entries: number;
}

/** The details of a purge's entry, besides the number of entries per vault. */
export interface PurgeRecord {
  from_seq: number;
  to_seq: number;
  entries: number;
  /** Covers the sequence number, the previous hash and the hash of each removed entry, so that no other set of entries has the same digest. */
  digest: string;
}

/** Extends the digest of a purge by one entry. The previous hash binds what precedes the gap, the entry's own hash what follows it. */
export function purgeDigest(digest: string, seq: number, hashBefore: string, entryHash: string): string {
  return hash('sha256', `${digest}\n${seq}\n${hashBefore}\n${entryHash}`, 'hex');
}

/**
 * The purged entries of a chain that is read from its beginning. Their hashes are accepted provisionally; the entry that records the purge comes
 * later and must match exactly these entries. Otherwise somebody else removed them.
 */
export class PurgedEntries {
  readonly #open = new Map<string, PurgeRecord>();
  count = 0;

  /** Returns what is wrong, or null. */
  add(purgedBy: string, seq: number, hashBefore: string, entryHash: string): string | null {
    const open = this.#open.get(purgedBy);
    if (open === undefined && this.#open.size >= OPEN_MAX) return 'more purges have no record than can be checked';
    this.count++;
    this.#open.set(purgedBy, {
      from_seq: open?.from_seq ?? seq,
      to_seq: seq,
      entries: (open?.entries ?? 0) + 1,
      digest: purgeDigest(open?.digest ?? '', seq, hashBefore, entryHash),
    });
    return null;
  }

  /** Called for each entry that is present. A record of entries that are all still present is harmless, because each of them was checked itself. */
  settle(text: string): BrokenLink | null {
    const record = purgeIn(text);
    const open = record === null ? undefined : this.#open.get(record.id);
    if (record === null || open === undefined) return null;
    this.#open.delete(record.id);
    const isSame = record.entries === open.entries && record.digest === open.digest;
    return isSame
      ? null
      : {
          seq: open.from_seq,
          reason: 'the entries that are missing from here on are not those that their purge recorded',
        };
  }

  /** The first removed entry without a record. */
  missing(): BrokenLink | null {
    const [first] = this.#open.values();
    return first === undefined ? null : { seq: first.from_seq, reason: 'the entry is missing' };
  }
}

/** The purge that an entry records, or null. Only the service records purges: entries of callers have another action and kind of actor. */
export function purgeIn(text: string): (PurgeRecord & { id: string }) | null {
  if (!text.includes(`"${PURGE_ACTION}"`)) return null;
  const { id, action, actor_kind, details } = entryOf('', JSON.parse(text) as unknown[]);
  if (action !== PURGE_ACTION || actor_kind !== 'system') return null;
  return { ...recordOf(details), id };
}

/** Details that do not parse match no purge, so the entries that refer to them are reported as missing. */
function recordOf(details: string): PurgeRecord {
  try {
    return JSON.parse(details) as PurgeRecord;
  } catch {
    return { from_seq: 0, to_seq: 0, entries: 0, digest: '' };
  }
}
