import type { Reader } from '../storage/database.ts';
import type { AuditSegmentsTable, Tables } from '../storage/tables.ts';
import { yielder } from '../yielding.ts';
import { type ChainHead, GENESIS_HASH, HASH_BYTES, hexOf, linkHash } from './chain.ts';
import type { Heads } from './heads.ts';
import { resumedAfter } from './restored-chain.ts';
import { textsOf } from './segment.ts';

const PAGE = 64;

export interface Broken {
  seq: number;
  reason: string;
}

/** Called for each entry whose hash is right, in the order of the chain; what it answers with is what is wrong there. */
export type Visit = (seq: number, hash: string, text: string) => Promise<string | null> | string | null;

/** The segments of a chain in its order. */
export function segmentsOnward(
  db: Reader,
  tenantId: string,
  fromSeq: number,
  limit: number,
): Promise<AuditSegmentsTable[]> {
  return db
    .selectFrom('audit_segments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('first_seq', '>=', fromSeq)
    .orderBy('first_seq')
    .limit(limit)
    .execute();
}

/**
 * Recomputes a chain from its first entry to the head as it was when the walk began. The head's own MAC is checked too: without it, a log
 * with its end cut off would be a shorter, valid log. With `from`, only what was added behind that place is looked at.
 */
export async function walkChain(
  db: Reader,
  heads: Heads,
  head: Tables['audit_heads'],
  visit: Visit,
  from: ChainHead = { seq: 0, hash: GENESIS_HASH },
): Promise<Broken | null> {
  const yieldNow = yielder();
  let { seq } = from;
  let hash = hexOf(from.hash);
  while (seq < head.seq) {
    const segments = await segmentsOnward(db, head.tenant_id, seq + 1, PAGE);
    for (const segment of segments) {
      if (seq >= head.seq) break;
      const texts = readable(segment);
      if (segment.first_seq !== seq + 1) {
        if (!isRestoreAfter(seq, texts)) return { seq: seq + 1, reason: 'the entry is missing' };
        seq = Number(segment.first_seq) - 1;
      }
      for (const [i, text] of texts.entries()) {
        const expected = linkHash(hash, head.tenant_id, seq + 1, text);
        const stored = segment.hashes?.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES);
        if (stored === undefined || hexOf(stored) !== expected) {
          return { seq: seq + 1, reason: 'the entry was changed' };
        }
        seq++;
        hash = expected;
        const visited = visit(seq, hash, text);
        const reason = visited instanceof Promise ? await visited : visited;
        if (reason !== null) return { seq, reason };
      }
      await yieldNow(texts.length);
    }
    if (segments.length === 0 && seq < head.seq) return { seq: seq + 1, reason: 'the entry is missing' };
  }
  if (hash !== hexOf(head.hash)) return { seq: head.seq, reason: 'the chain was rewritten' };
  return (await heads.isAuthentic(head)) ? null : { seq: head.seq, reason: 'the head of the chain was rewritten' };
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
