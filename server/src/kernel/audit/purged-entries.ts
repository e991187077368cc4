import { hash } from 'node:crypto';
import type { Broken } from './chain-walk.ts';
import { entryOf } from './entry.ts';

/** The action of the entry that records what one purge removed. */
export const PURGE_ACTION = 'audit:purge';

/** Purges that wait for their record while a chain is read; each removed many entries, as a rule. */
const OPEN_MAX = 500_000;

/** What stands in a segment for entries that a purge removed; their hashes stay where they were. */
export interface PurgedRun {
  /** The id of the entry that records it. */
  purged_by: string;
  /** How many, one after the other. */
  entries: number;
}

/** What the entry of a purge tells, beside how many entries of which vault it removed. */
export interface PurgeRecord {
  from_seq: number;
  to_seq: number;
  entries: number;
  /** Over place, hash before and hash of each entry that was removed: no other set of entries has it. */
  digest: string;
}

/** The digest of a purge, carried on by one more entry. The hash before binds what precedes the gap, the entry's own what follows it. */
export function purgeDigest(digest: string, seq: number, hashBefore: string, entryHash: string): string {
  return hash('sha256', `${digest}\n${seq}\n${hashBefore}\n${entryHash}`, 'hex');
}

/**
 * The entries that were purged from a chain, while it is read from its beginning. The hash of each is believed for the moment; the entry that
 * records the purge comes later, and must tell of exactly these. Otherwise somebody else removed them.
 */
export class PurgedEntries {
  readonly #open = new Map<string, PurgeRecord>();
  count = 0;

  /** Answers with what is wrong, or null. */
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

  /** Takes each entry that is there. A record of entries that are all still there says nothing wrong: each was checked itself. */
  settle(text: string): Broken | null {
    const record = purgeIn(text);
    const open = record === null ? undefined : this.#open.get(record.id);
    if (record === null || open === undefined) return null;
    this.#open.delete(record.id);
    const isSame = record.entries === open.entries && record.digest === open.digest;
    return isSame
      ? null
      : { seq: open.from_seq, reason: 'other entries are gone from here on than their purge recorded' };
  }

  /** The first entry that is gone without a record. */
  missing(): Broken | null {
    const [first] = this.#open.values();
    return first === undefined ? null : { seq: first.from_seq, reason: 'the entry is missing' };
  }
}

/** What an entry records of a purge, or null. Only the service itself records them: what a caller does has another action and kind of actor. */
export function purgeIn(text: string): (PurgeRecord & { id: string }) | null {
  if (!text.includes(`"${PURGE_ACTION}"`)) return null;
  const { id, action, actor_kind, details } = entryOf('', JSON.parse(text) as unknown[]);
  if (action !== PURGE_ACTION || actor_kind !== 'system') return null;
  return { ...recordOf(details), id };
}

/** What cannot be read records nothing, so that what refers to it is missed. */
function recordOf(details: string): PurgeRecord {
  try {
    return JSON.parse(details) as PurgeRecord;
  } catch {
    return { from_seq: 0, to_seq: 0, entries: 0, digest: '' };
  }
}
