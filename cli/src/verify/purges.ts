import { hash } from 'node:crypto';

const ACTION = 'audit:purge';
const FIELDS = { id: 0, actorKind: 2, action: 6, details: 15 } as const;
/** Purges whose record has not been found yet, at most. */
const OPEN_MAX = 500_000;

type Wrong = (seq: number, what: string) => void;

interface Purge {
  fromSeq: number;
  entries: number;
  digest: string;
}

/**
 * Entries that the service purged when the retention of their vault ended. Their hashes stay in the log, and a later entry records exactly which they
 * were. A checkpoint must cover that entry: after the last checkpoint anybody could append one and remove whatever they like.
 */
export class Purges {
  readonly #firstSeq: number;
  readonly #wrong: Wrong;
  readonly #open = new Map<string, Purge>();
  readonly #recorded: { recordSeq: number; fromSeq: number }[] = [];
  count = 0;

  /** `firstSeq` is the first entry of the file. */
  constructor(firstSeq: number, wrong: Wrong) {
    this.#firstSeq = firstSeq;
    this.#wrong = wrong;
  }

  add(id: string, seq: number, hashBefore: string, entryHash: string): void {
    const open = this.#open.get(id);
    if (open === undefined && this.#open.size >= OPEN_MAX) {
      this.#wrong(seq, 'is missing: there are more purges without a record than can be checked');
      return;
    }
    this.count++;
    const digest = hash('sha256', `${open?.digest ?? ''}\n${seq}\n${hashBefore}\n${entryHash}`, 'hex');
    this.#open.set(id, { fromSeq: open?.fromSeq ?? seq, entries: (open?.entries ?? 0) + 1, digest });
  }

  /** Call this with the text of each entry that was not purged. */
  settle(seq: number, text: string): void {
    if (this.#open.size === 0 || !text.includes(`"${ACTION}"`)) return;
    const record = recordIn(text);
    const open = record === null ? undefined : this.#open.get(record.id);
    if (record === null || open === undefined) return;
    this.#open.delete(record.id);
    if (record.entries === open.entries && record.digest === open.digest) {
      this.#recorded.push({ recordSeq: seq, fromSeq: open.fromSeq });
    } else if (record.from_seq < this.#firstSeq) {
      const what = `was purged together with entries before this file: verify an export that starts at entry ${record.from_seq}`;
      this.#wrong(open.fromSeq, what);
    } else {
      this.#wrong(open.fromSeq, `and others are missing that the purge record, entry ${seq}, does not list`);
    }
  }

  /** `signedSeq` is the last entry that a checkpoint covers; null if checkpoints are not checked. */
  end(signedSeq: number | null): void {
    for (const { fromSeq } of this.#open.values()) this.#wrong(fromSeq, 'is missing: no entry records its purge');
    for (const { recordSeq, fromSeq } of this.#recorded) {
      if (signedSeq === null || recordSeq <= signedSeq) continue;
      const what = `was purged, but no checkpoint covers the purge record, entry ${recordSeq}: add a checkpoint signed after it`;
      this.#wrong(fromSeq, what);
    }
  }
}

interface PurgeRecord {
  id: string;
  from_seq: number;
  entries: number;
  digest: string;
}

function recordIn(text: string): PurgeRecord | null {
  try {
    const fields = JSON.parse(text) as unknown[];
    if (fields[FIELDS.action] !== ACTION || fields[FIELDS.actorKind] !== 'system') return null;
    const { from_seq, entries, digest } = JSON.parse(String(fields[FIELDS.details])) as PurgeRecord;
    if (!Number.isSafeInteger(from_seq)) return null;
    return { id: String(fields[FIELDS.id]), from_seq, entries, digest };
  } catch {
    return null;
  }
}
