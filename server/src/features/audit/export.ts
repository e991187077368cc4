import { GENESIS_HASH, hexOf } from '../../kernel/audit/chain/chain.ts';
import { hashUpTo } from '../../kernel/audit/chain/chain-position.ts';
import { segmentsFrom, windowEnd } from '../../kernel/audit/chain/chain-walk.ts';
import { purgeIn } from '../../kernel/audit/chain/purged-entries.ts';
import { hashAt, purgedBy, textsOf } from '../../kernel/audit/chain/segment.ts';
import { notFound } from '../../kernel/base/errors.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import { yielder } from '../../kernel/fairness/yielding.ts';
import { recheck } from '../../kernel/request/acceptance.ts';
import { Streamed } from '../../kernel/request/binding.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { AuditSegmentsTable } from '../../kernel/storage/tables.ts';
import { newestPruned } from './archive/archive-store.ts';
import type { exportAudit } from './contract.ts';
import * as store from './store.ts';

/**
 * Exports the log in chain order, with each entry exactly as it is hashed, so that `coffer-verify` can recompute the chain without the service. The
 * header line states the range that follows, so that a truncated file is detected. Tampered entries are exported as they are, for the verifier to
 * find.
 */
export async function exportLog(ctx: Context, query: Query<typeof exportAudit>): Promise<Streamed> {
  await ctx.kernel.audit.link();
  const { read } = ctx.database;
  const head = await store.findHead(read, ctx.tenantId);
  if (head === undefined) throw notFound('audit log');
  const prunedSeq = (await newestPruned(read, ctx.tenantId))?.last_seq ?? 0;
  const fromSeq = query.from_seq ?? prunedSeq + 1;
  if (fromSeq > head.seq + 1) throw notFound('entry: from_seq is beyond the end of the log');
  if (fromSeq <= prunedSeq) throw notFound(`entry: entries up to ${prunedSeq} are in the archive of the service`);
  const header = {
    format: 'coffer-audit-export',
    version: 1,
    tenant_id: ctx.tenantId,
    first_seq: fromSeq,
    previous_hash: (await hashUpTo(read, ctx.tenantId, fromSeq - 1)) ?? hexOf(GENESIS_HASH),
    last_seq: head.seq,
    last_hash: hexOf(head.hash),
  };
  ctx.record.describe({ from_seq: fromSeq, last_seq: head.seq });

  async function* pieces(): AsyncIterable<string> {
    yield `${JSON.stringify(header)}\n`;
    const unexplained = new Set<string>();
    yield* linesBetween(ctx, fromSeq, header.last_seq, unexplained);
    if (unexplained.size === 0) return;
    // Entries were purged during the export. The audit entry that records the purge comes after `last_seq` and must be in the file too.
    await ctx.kernel.audit.link();
    const newest = await store.findHead(read, header.tenant_id);
    yield* linesBetween(ctx, header.last_seq + 1, newest?.seq ?? 0, unexplained);
  }
  return new Streamed(pieces());
}

async function* linesBetween(
  ctx: Context,
  fromSeq: number,
  lastSeq: number,
  unexplained: Set<string>,
): AsyncIterable<string> {
  const { tenantId, database } = ctx;
  const yieldNow = yielder(tenantId);
  const start = await store.segmentHolding(database.read, tenantId, fromSeq);
  for (let seq = Number(start?.first_seq ?? fromSeq); seq <= lastSeq; ) {
    await recheck(ctx);
    const segments = await segmentsFrom(database.read, tenantId, seq);
    const last = segments.at(-1);
    if (last === undefined) return;
    for (const segment of segments) {
      const texts = entryTexts(segment);
      const lines = linesOf(segment, texts, { fromSeq, lastSeq, unexplained });
      if (lines !== '') yield lines;
      await yieldNow(texts.length);
    }
    seq = windowEnd(Number(last.first_seq));
  }
}

interface Wanted {
  fromSeq: number;
  lastSeq: number;
  /** Ids of purges whose audit entry was not exported yet. */
  unexplained: Set<string>;
}

function linesOf(
  segment: AuditSegmentsTable,
  texts: readonly string[],
  { fromSeq, lastSeq, unexplained }: Wanted,
): string {
  let lines = '';
  for (const [i, text] of texts.entries()) {
    const seq = Number(segment.first_seq) + i;
    if (seq < fromSeq || seq > lastSeq) continue;
    const hash = hashAt(segment, seq);
    const purge = purgedBy(text);
    if (purge !== null) unexplained.add(purge);
    else if (unexplained.size > 0) unexplained.delete(purgeIn(text)?.id ?? '');
    const what = purge === null ? `"entry":${text}` : `"purged_by":${JSON.stringify(purge)}`;
    lines += `{"seq":${seq},"hash":"${hash}",${what}}\n`;
  }
  return lines;
}

/** A segment that cannot be parsed is exported as one entry that fails verification. */
function entryTexts(segment: AuditSegmentsTable): string[] {
  try {
    const texts = textsOf(segment);
    return texts.length > 0 ? texts : ['null'];
  } catch {
    return ['null'];
  }
}
