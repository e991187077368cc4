import { GENESIS_HASH, HASH_BYTES, hexOf } from '../../kernel/audit/chain.ts';
import { segmentsOnward } from '../../kernel/audit/chain-walk.ts';
import type { Context } from '../../kernel/context.ts';
import { type Query, Streamed } from '../../kernel/endpoint.ts';
import { notFound } from '../../kernel/errors.ts';
import type { AuditSegmentsTable } from '../../kernel/storage/tables.ts';
import { yielder } from '../../kernel/yielding.ts';
import type { exportAudit } from './contract.ts';
import * as store from './store.ts';

const SEGMENTS_AT_ONCE = 64;

/**
 * The log in the order of its chain, with each entry exactly as it is hashed: what `coffer-verify` needs to recompute it without the service. The first
 * line says what follows, so that a file that was cut off shows. What was tampered with is exported as it is, for the check to find.
 */
export async function exportLog(ctx: Context, query: Query<typeof exportAudit>): Promise<Streamed> {
  await ctx.kernel.audit.seal();
  const { read } = ctx.database;
  const head = await store.findHead(read, ctx.tenantId);
  if (head === undefined) throw notFound('audit log');
  const fromSeq = query.from_seq ?? 1;
  if (fromSeq > head.seq + 1) throw notFound('entry: the log has not come so far');
  const start = await store.segmentHolding(read, ctx.tenantId, fromSeq - 1);
  const header = {
    format: 'coffer-audit-export',
    version: 1,
    tenant_id: ctx.tenantId,
    first_seq: fromSeq,
    previous_hash: fromSeq === 1 ? hexOf(GENESIS_HASH) : hashAt(start, fromSeq - 1),
    last_seq: head.seq,
    last_hash: hexOf(head.hash),
  };
  ctx.describe({ from_seq: fromSeq, last_seq: head.seq });

  async function* pieces(): AsyncIterable<string> {
    yield `${JSON.stringify(header)}\n`;
    const yieldNow = yielder();
    for (let seq = start?.first_seq ?? 1; ; ) {
      const segments = await segmentsOnward(read, header.tenant_id, seq, SEGMENTS_AT_ONCE);
      for (const segment of segments) {
        const lines = linesOf(segment, fromSeq, header.last_seq);
        if (lines !== '') yield lines;
        seq = Number(segment.first_seq) + 1;
        await yieldNow((segment.hashes?.length ?? 0) / HASH_BYTES);
        if (seq > header.last_seq) return;
      }
      if (segments.length < SEGMENTS_AT_ONCE) return;
    }
  }
  return new Streamed(pieces());
}

function linesOf(segment: AuditSegmentsTable, fromSeq: number, lastSeq: number): string {
  let lines = '';
  entriesIn(segment).forEach((entry, i) => {
    const seq = Number(segment.first_seq) + i;
    if (seq < fromSeq || seq > lastSeq) return;
    lines += `${JSON.stringify({ seq, hash: hashAt(segment, seq), entry })}\n`;
  });
  return lines;
}

/** A segment that cannot be read is one entry that nobody can verify. */
function entriesIn({ entries }: AuditSegmentsTable): unknown[] {
  try {
    const parsed: unknown = JSON.parse(entries);
    return Array.isArray(parsed) && parsed.length > 0 ? parsed : [null];
  } catch {
    return [null];
  }
}

/** Behind the end of a segment the hash is that of its last entry: there a restored chain has left numbers out. */
function hashAt(segment: AuditSegmentsTable | undefined, seq: number): string {
  const hashes = segment?.hashes ?? new Uint8Array();
  const at = Math.min((seq - Number(segment?.first_seq)) * HASH_BYTES, hashes.length - HASH_BYTES);
  return hexOf(hashes.subarray(Math.max(at, 0), at + HASH_BYTES));
}
