import { GENESIS_HASH, HASH_BYTES, hexOf, linkHash } from '../../kernel/audit/chain.ts';
import type { Heads } from '../../kernel/audit/heads.ts';
import { textsOf } from '../../kernel/audit/segment.ts';
import type { Context } from '../../kernel/context.ts';
import * as store from './store.ts';
import { turnTaker } from './turns.ts';

const PAGE = 64;

export interface Verification {
  valid: boolean;
  entries: number;
  first_broken: { seq: number; reason: string } | null;
}

/**
 * Recomputes the chain from its first entry to the head as it was when the check began. The head's own seal is checked first: without
 * it, a log with its end cut off would be a shorter, valid log.
 */
export async function verify(ctx: Context, heads: Heads): Promise<Verification> {
  await ctx.kernel.audit.seal();
  const head = await store.findHead(ctx.database.read, ctx.tenantId);
  if (head === undefined) {
    return { valid: false, entries: 0, first_broken: { seq: 1, reason: 'the head of the chain was removed' } };
  }
  const broken = (seq: number, reason: string): Verification => ({
    valid: false,
    entries: head.seq,
    first_broken: { seq, reason },
  });

  const takeTurns = turnTaker();
  let seq = 0;
  let hash = hexOf(GENESIS_HASH);
  while (seq < head.seq) {
    const segments = await store.segmentsOnward(ctx.database.read, ctx.tenantId, seq + 1, PAGE);
    for (const segment of segments) {
      if (seq >= head.seq) break;
      if (segment.first_seq !== seq + 1) return broken(seq + 1, 'the entry is missing');
      const texts = readable(segment);
      for (const [i, text] of texts.entries()) {
        const expected = linkHash(hash, ctx.tenantId, seq + 1, text);
        const stored = segment.hashes?.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES);
        if (stored === undefined || hexOf(stored) !== expected) return broken(seq + 1, 'the entry was changed');
        seq++;
        hash = expected;
      }
      await takeTurns(texts.length);
    }
    if (segments.length === 0 && seq < head.seq) return broken(seq + 1, 'the entry is missing');
  }
  if (hash !== hexOf(head.hash)) return broken(head.seq, 'the chain was rewritten');
  if (!(await heads.isAuthentic(head))) return broken(head.seq, 'the head of the chain was rewritten');
  return { valid: true, entries: head.seq, first_broken: null };
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
