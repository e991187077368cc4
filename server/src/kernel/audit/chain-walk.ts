import type { Reader } from '../storage/database.ts';
import type { AuditSegmentsTable, Tables } from '../storage/tables.ts';
import { yielder } from '../yielding.ts';
import { type ChainHead, GENESIS_HASH, hexOf, linkHash } from './chain.ts';
import type { Heads } from './heads.ts';
import { PurgedEntries } from './purged-entries.ts';
import { resumedAfter } from './restored-chain.ts';
import { hashAt, purgedBy, textsOf } from './segment.ts';

/**
 * The segments that begin in one window of the chain are read by one statement, and a purge removes entries of one window: so whoever reads the
 * chain sees all of a purge or nothing, without holding a snapshot for minutes.
 */
const WINDOW_ENTRIES = 2048;

export interface Broken {
  seq: number;
  reason: string;
}

/** Called for each entry whose hash is right, in the order of the chain; what it answers with is what is wrong there. */
export type Visit = (seq: number, hash: string, text: string) => Promise<string | null> | string | null;

/** The first place behind the window that a place is in. */
export function windowEnd(seq: number): number {
  return Math.ceil(seq / WINDOW_ENTRIES) * WINDOW_ENTRIES + 1;
}

/** The segments of a chain in its order: the rest of a window, or the next one that has any. Empty at the end of the chain. */
export async function segmentsOnward(db: Reader, tenantId: string, fromSeq: number): Promise<AuditSegmentsTable[]> {
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

/**
 * Recomputes a chain from its first entry to the head as it was when the walk began. The head's own MAC is checked too: without it, a log
 * with its end cut off would be a shorter, valid log. With `from`, only what was added behind that place is looked at. With `purged`, the
 * caller looks for the records of entries that were purged while the walk went on.
 */
export async function walkChain(
  db: Reader,
  heads: Heads,
  head: Tables['audit_heads'],
  visit: Visit,
  from: ChainHead = { seq: 0, hash: GENESIS_HASH },
  purged?: PurgedEntries,
): Promise<Broken | null> {
  const removed = purged ?? new PurgedEntries();
  const yieldNow = yielder(head.tenant_id);
  let { seq } = from;
  let hash = hexOf(from.hash);
  while (seq < head.seq) {
    const segments = await segmentsOnward(db, head.tenant_id, seq + 1);
    for (const segment of segments) {
      if (seq >= head.seq) break;
      const texts = readable(segment);
      if (segment.first_seq !== seq + 1) {
        if (!isRestoreAfter(seq, texts)) return { seq: seq + 1, reason: 'the entry is missing' };
        seq = Number(segment.first_seq) - 1;
      }
      for (const text of texts) {
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
      await yieldNow(texts.length);
    }
    if (segments.length === 0 && seq < head.seq) return { seq: seq + 1, reason: 'the entry is missing' };
  }
  if (hash !== hexOf(head.hash)) return { seq: head.seq, reason: 'the chain was rewritten' };
  if (!(await heads.hasItsMac(head))) return { seq: head.seq, reason: 'the head of the chain was rewritten' };
  return purged === undefined ? removed.missing() : null;
}

/** Numbers are left out only before an entry which says that a backup was restored when the chain stood there; its own hash is checked with the others. */
function isRestoreAfter(seq: number, [first = '']: readonly string[]): boolean {
  return resumedAfter(first) === seq;
}

/** What cannot even be read was changed too; as one text without a right hash it is found by the check. */
function readable(segment: { entries: string }): string[] {
  try {
    const texts = textsOf(segment);
    return texts.length > 0 ? texts : [''];
  } catch {
    return [''];
  }
}
