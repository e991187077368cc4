import { HASH_BYTES } from '../../../kernel/audit/chain/chain.ts';
import { windowEnd } from '../../../kernel/audit/chain/chain-walk.ts';
import { PACKED_TEXT_BYTES_MAX, packedRow, textsOf } from '../../../kernel/audit/chain/segment.ts';
import type { AuditSegmentsTable } from '../../../kernel/storage/tables.ts';

/** Longer segments hardly compress better, and a page of the log reads whole segments. */
export const PACKED_ENTRIES_MAX = 512;
/** Half of what may be unpacked, because the limit there is in bytes of the whole text with its separators. */
const PACKED_CHARS_MAX = PACKED_TEXT_BYTES_MAX / 2;

export interface Compacted {
  /** Takes the place of the last merged segment, whose id it has. */
  row: AuditSegmentsTable;
  /** The ids of the other segments that were merged into it. */
  merged: string[];
}

interface Run {
  segments: AuditSegmentsTable[];
  texts: string[];
  bytes: number;
}

/**
 * Merges the segments of one window of the chain. `others` are the ids of all other segments between the first and the last id, in order. Only
 * segments that follow each other both in the chain and in the order of ids are merged, so every reader sees the entries in the same order as before.
 * Hashes and texts are copied, not computed: an entry that somebody changed still fails verification.
 */
export function planCompaction(segments: readonly AuditSegmentsTable[], others: readonly string[]): Compacted[] {
  const compacted: Compacted[] = [];
  let run: Run | null = null;
  const finish = () => {
    if (run !== null && isWorthwhile(run)) compacted.push(compact(run));
    run = null;
  };
  for (const segment of segments) {
    const texts = textsWithin(segment);
    if (texts === null) {
      finish();
      continue;
    }
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
    if (run !== null && !fits(run, { segment, texts, bytes }, others)) finish();
    if (run === null) run = { segments: [segment], texts, bytes };
    else {
      const open: Run = run;
      open.segments.push(segment);
      for (const text of texts) open.texts.push(text);
      open.bytes += bytes;
    }
  }
  finish();
  return compacted;
}

/** The texts of a segment that may be merged; null for one that was edited, or that reaches beyond its window. */
function textsWithin(segment: AuditSegmentsTable): string[] | null {
  const firstSeq = Number(segment.first_seq);
  const count = (segment.hashes?.length ?? 0) / HASH_BYTES;
  if (count > PACKED_ENTRIES_MAX || firstSeq + count > windowEnd(firstSeq)) return null;
  try {
    const texts = textsOf(segment);
    return texts.length > 0 && texts.length === count ? texts : null;
  } catch {
    // Verification reports it.
    return null;
  }
}

function fits(
  { segments, texts: before, bytes: bytesBefore }: Run,
  { segment, texts, bytes }: { segment: AuditSegmentsTable; texts: readonly string[]; bytes: number },
  others: readonly string[],
): boolean {
  const last = segments.at(-1);
  const first = segments[0];
  if (last === undefined || first === undefined) return false;
  if (before.length + texts.length > PACKED_ENTRIES_MAX || bytesBefore + bytes > PACKED_CHARS_MAX) return false;
  if (Number(first.first_seq) + before.length !== segment.first_seq || segment.id <= last.id) return false;
  return !others.some((id) => id > last.id && id < segment.id);
}

function isWorthwhile({ segments, bytes }: Run): boolean {
  if (bytes > PACKED_CHARS_MAX) return false;
  return segments.length > 1 || segments[0]?.packed === null;
}

function compact({ segments, texts }: Run): Compacted {
  const first = segments[0] as AuditSegmentsTable;
  const last = segments.at(-1) as AuditSegmentsTable;
  const hashes = Buffer.concat(segments.map((segment) => segment.hashes ?? new Uint8Array()));
  const merged = segments.slice(0, -1).map(({ id }) => id);
  return { row: packedRow(last, Number(first.first_seq), texts, hashes), merged };
}
