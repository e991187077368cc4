import { WINDOW_ENTRIES, windowEnd } from '../../../kernel/audit/chain/chain-walk.ts';
import { MINUTE_MS } from '../../../kernel/base/clock.ts';
import { timeOfId } from '../../../kernel/base/ids.ts';
import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import type { KeepingJob } from '../../../kernel/jobs/job-runner.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import * as store from '../store.ts';
import { planCompaction } from './compaction-plan.ts';

const TENANTS_AT_ONCE = 100;
/** Longer than entries wait to be linked and than a page of a list is read, so that hardly anybody reads a segment while it is merged. */
const AGE_MIN_MS = 10 * MINUTE_MS;
/** Each run takes its share; the next one goes on where it ended. */
const WINDOWS_PER_RUN = 200;
/** Segments of other windows whose ids lie between those of one window: few, because the chain is almost in time order. */
const OTHERS_MAX = 5000;

/**
 * Merges the small segments of full windows of the chain into few compressed ones. At low rates a segment has one entry, and its row and index
 * entries take more space than the entry. Each window is one transaction with the note of how far compaction has come, so a kill loses nothing.
 */
export function compactAuditJob(kernel: Pick<Kernel, 'clock' | 'database' | 'regionGate'>): KeepingJob {
  return {
    name: 'compact-audit',
    intervalMs: MINUTE_MS,
    isLong: true,
    removes: 'nothing',
    async run(signal) {
      let left = WINDOWS_PER_RUN;
      for (let after = ''; left > 0; ) {
        const tenants = await store.tenantsToCompact(kernel.database.read, after, WINDOW_ENTRIES, TENANTS_AT_ONCE);
        for (const tenantId of tenants) {
          // The log of a tenant of another region is a copy, which that region compacts.
          if (!(await kernel.regionGate.isServedHere(tenantId))) continue;
          left -= await compactTenant(kernel, tenantId, left, signal);
          if (signal.aborted) return;
        }
        const last = tenants.at(-1);
        if (last === undefined || tenants.length < TENANTS_AT_ONCE) return;
        after = last;
      }
    },
  };
}

/** Returns the number of windows that it compacted. */
async function compactTenant(
  kernel: Pick<Kernel, 'clock' | 'database'>,
  tenantId: string,
  max: number,
  signal: AbortSignal,
): Promise<number> {
  const database = kernel.database.forTenant(tenantId, 'bulk');
  let seq = await store.compactedSeq(database.read, tenantId);
  for (let done = 0; ; done++) {
    if (done === max || signal.aborted) return done;
    const first = await store.firstLinkedFrom(database.read, tenantId, seq + 1);
    const head = await store.findHead(database.read, tenantId);
    if (first === undefined || head === undefined) return done;
    const end = windowEnd(Number(first.first_seq)) - 1;
    const isFull = end <= head.seq;
    if (isFull && !(await isOld(kernel, tenantId, end))) return done;
    // A restored chain skips windows, and the one in which it goes on may not be full yet.
    seq = isFull ? end : end - WINDOW_ENTRIES;
    await database.transaction(async (tx) => {
      if (isFull) await compactWindow(tx, tenantId, Number(first.first_seq));
      await store.saveCompacted(tx, tenantId, seq);
    });
    if (!isFull) return done;
    await nextTurn(tenantId);
  }
}

async function isOld(
  { database, clock }: Pick<Kernel, 'clock' | 'database'>,
  tenantId: string,
  seq: number,
): Promise<boolean> {
  const last = await store.segmentHolding(database.read, tenantId, seq);
  return last === undefined || timeOfId(last.id) <= clock.now() - AGE_MIN_MS;
}

async function compactWindow(tx: Tx, tenantId: string, fromSeq: number): Promise<void> {
  const segments = await store.lockWindow(tx, tenantId, fromSeq);
  const ids = segments.map(({ id }) => id).sort();
  const between = { from: ids[0] ?? '', to: ids.at(-1) ?? '' };
  const others = await store.idsOutside(tx, tenantId, { ids: between, seqs: windowOf(fromSeq) }, OTHERS_MAX);
  if (others.length === OTHERS_MAX) return;
  for (const { row, merged } of planCompaction(segments, others)) {
    // By their ids: a forged segment with the same numbers stays, for verification to report it.
    await store.deleteSegments(tx, tenantId, merged);
    await store.updateSegment(tx, row);
  }
}

function windowOf(fromSeq: number): { from: number; end: number } {
  return { from: fromSeq, end: windowEnd(fromSeq) };
}
