import { TimeSlice } from '../../fairness/time-slice.ts';
import type { Reader } from '../../storage/database.ts';
import type { AuditSegmentsTable, Tables } from '../../storage/tables.ts';
import { type ArchiveRow, prunedRangeAt, unpackPruned } from './archived-ranges.ts';
import { type BrokenLink, type ChainHead, GENESIS_HASH, HASH_BYTES, hexOf, linkHash } from './chain.ts';
import type { Heads } from './heads.ts';
import { PurgedEntries } from './purged-entries.ts';
import { resumedAfter } from './restored-chain.ts';
import { hashAt, purgedBy, textsIn } from './segment.ts';

/**
 * All segments that begin in one window of the chain are loaded by one statement, and a purge removes entries of one window only. A reader of the
 * chain therefore sees all of a purge or none of it, without holding a snapshot for minutes.
 */
export const WINDOW_ENTRIES = 2048;

/** Called for each entry with a correct hash, in chain order. It returns a description of what is wrong, or null. */
export type Visit = (seq: number, hash: string, text: string) => Promise<string | null> | string | null;

/** The first sequence number after the window that contains `seq`. */
export function windowEnd(seq: number): number {
  return Math.ceil(seq / WINDOW_ENTRIES) * WINDOW_ENTRIES + 1;
}

/** Segments in chain order: those left in this window, else those of the next window with segments. Empty at the end of the chain. */
export async function segmentsFrom(db: Reader, tenantId: string, fromSeq: number): Promise<AuditSegmentsTable[]> {
  const linked = db
    .selectFrom('audit_segments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('first_seq', '>=', fromSeq)
    .orderBy('first_seq');
  const segments = await linked.where('first_seq', '<', windowEnd(fromSeq)).execute();
  if (segments.length > 0) return segments;
  const next = Number((await linked.limit(1).executeTakeFirst())?.first_seq ?? 0);
  return next === 0 ? [] : linked.where('first_seq', '<', windowEnd(next)).execute();
}

export interface WalkOptions {
  /** Only later entries are checked. */
  from?: ChainHead;
  /** With it, the caller itself checks the records of entries that were purged during the walk. */
  purged?: PurgedEntries;
  /** Gets each position before which no later purge and no later merge of segments reaches, so that another walk can begin there. */
  onWindow?(position: { seq: number; hash: string }): void;
  /** Gets each range that was archived and pruned, after `visit` was called for the entries that remain of it. */
  onPruned?(range: ArchiveRow, retained: number): void;
  /** The walk of a long log takes hours. It throws once this is aborted. */
  signal?: AbortSignal | undefined;
}

/**
 * Recomputes a chain from its first entry to the head as it was when the walk began. The head's MAC is checked too, because otherwise a log with
 * its end cut off would be a shorter, valid log.
 */
export async function walkChain(
  db: Reader,
  { heads, head }: { heads: Heads; head: Tables['audit_heads'] },
  visit: Visit,
  { from = { seq: 0, hash: GENESIS_HASH }, purged, onWindow, onPruned, signal }: WalkOptions = {},
): Promise<BrokenLink | null> {
  const removed = purged ?? new PurgedEntries();
  const slice = TimeSlice.of(head.tenant_id);
  let { seq } = from;
  let hash = hexOf(from.hash);
  // Segments may have been merged since another walk ended here, so the next entry may be in the middle of one.
  let begin = await beginOfSegment(db, head.tenant_id, seq + 1);
  while (seq < head.seq) {
    signal?.throwIfAborted();
    if (begin === seq + 1) onWindow?.({ seq, hash });
    const segments = await segmentsFrom(db, head.tenant_id, begin);
    if (segments[0]?.first_seq !== begin) {
      const range = await prunedRangeAt(db, head.tenant_id, seq + 1);
      if (range !== null) {
        const broken = await overPruned(db, { range, hash }, removed, visit);
        if (broken !== null) return broken;
        onPruned?.(range, unpackPruned(range).length);
        seq = range.last_seq;
        hash = hexOf(range.last_hash);
        begin = seq + 1;
        continue;
      }
    }
    for (const [i, segment] of segments.entries()) {
      if (seq >= head.seq) break;
      // Only the first segment of the walk may have entries that are known. Others that overlap were not written by the service.
      const known = i === 0 && segment.first_seq === begin ? seq + 1 - begin : 0;
      if (known > 0 && hashAt(segment, seq) !== hash) return { seq, reason: 'the chain was rewritten' };
      const texts = (await entryTexts(segment, slice)).slice(known);
      if (Number(segment.first_seq) + known !== seq + 1) {
        if (!isRestoreAfter(seq, texts)) return { seq: seq + 1, reason: 'the entry is missing' };
        seq = Number(segment.first_seq) - 1;
      }
      for (const text of texts) {
        // The last segment may have been merged with later ones since the head was read.
        if (seq >= head.seq) break;
        const pause = slice.pause();
        if (pause !== undefined) await pause;
        const stored = hashAt(segment, seq + 1);
        const purge = purgedBy(text);
        if (purge !== null) {
          const problem = removed.add(purge, seq + 1, hash, stored);
          if (problem !== null) return { seq: seq + 1, reason: problem };
        } else if (stored !== linkHash(hash, head.tenant_id, seq + 1, text)) {
          return { seq: seq + 1, reason: 'the entry was changed' };
        }
        seq++;
        hash = stored;
        const unlike = removed.settle(text);
        if (unlike !== null) return unlike;
        const visited = visit(seq, hash, text);
        const reason = visited instanceof Promise ? await visited : visited;
        if (reason !== null) return { seq, reason };
      }
    }
    if (segments.length === 0 && seq < head.seq) return { seq: seq + 1, reason: 'the entry is missing' };
    begin = seq + 1;
  }
  if (hash !== hexOf(head.hash)) return { seq: head.seq, reason: 'the chain was rewritten' };
  if (!(await heads.hasItsMac(head))) return { seq: head.seq, reason: 'the head of the chain was rewritten' };
  heads.hasMoved(head.tenant_id);
  return purged === undefined ? removed.missing() : null;
}

/** The remains of a pruned range are visited instead of its entries, of which none may be left. */
async function overPruned(
  db: Reader,
  { range, hash }: { range: ArchiveRow; hash: string },
  removed: PurgedEntries,
  visit: Visit,
): Promise<BrokenLink | null> {
  const { tenant_id, first_seq, last_seq } = range;
  if (hexOf(range.previous_hash) !== hash)
    return { seq: first_seq, reason: 'other entries were archived from here on' };
  const left = await db
    .selectFrom('audit_segments')
    .select('first_seq')
    .where('tenant_id', '=', tenant_id)
    .where('first_seq', '>=', first_seq)
    .where('first_seq', '<=', last_seq)
    .limit(1)
    .executeTakeFirst();
  if (left !== undefined) return { seq: Number(left.first_seq), reason: 'the entry was archived and pruned before' };
  for (const [seq, entryHash, text] of unpackPruned(range)) {
    const unlike = text === null ? null : removed.settle(text);
    if (unlike !== null) return unlike;
    const visited = visit(seq, entryHash, text ?? '');
    const reason = visited instanceof Promise ? await visited : visited;
    if (reason !== null) return { seq, reason };
  }
  return null;
}

/** Where the segment begins that contains this sequence number; the number itself if none does. */
async function beginOfSegment(db: Reader, tenantId: string, seq: number): Promise<number> {
  const segment = await db
    .selectFrom('audit_segments')
    .select(['first_seq', 'hashes'])
    .where('tenant_id', '=', tenantId)
    .where('first_seq', '>=', 1)
    .where('first_seq', '<', seq)
    .orderBy('first_seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  const first = Number(segment?.first_seq ?? seq);
  return first + (segment?.hashes?.length ?? 0) / HASH_BYTES > seq ? first : seq;
}

/** Numbers may be skipped only before an entry which records that a backup was restored at that point. Its hash is checked like any other. */
function isRestoreAfter(seq: number, [first = '']: readonly string[]): boolean {
  return resumedAfter(first) === seq;
}

/** A segment that does not parse was changed too. It is returned as one empty text, which has no valid hash and so fails the check. */
async function entryTexts(segment: AuditSegmentsTable, slice: TimeSlice): Promise<string[]> {
  const texts: string[] = [];
  await slice.pause();
  try {
    for (const text of textsIn(segment)) {
      const pause = slice.pause();
      if (pause !== undefined) await pause;
      texts.push(text);
    }
  } catch {
    return [''];
  }
  return texts.length > 0 ? texts : [''];
}
