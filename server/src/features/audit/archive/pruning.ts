import { type ArchiveRow, type PrunedEntry, packPruned } from '../../../kernel/audit/chain/archived-ranges.ts';
import { hexOf } from '../../../kernel/audit/chain/chain.ts';
import { purgeIn } from '../../../kernel/audit/chain/purged-entries.ts';
import { systemEntry } from '../../../kernel/audit/entry/system-entry.ts';
import { DAY_MS, HOUR_MS } from '../../../kernel/base/clock.ts';
import { CofferError } from '../../../kernel/base/errors.ts';
import { recordsIn } from '../../../kernel/integrity/row-verification.ts';
import { TAMPERING_ACTION } from '../../../kernel/integrity/tampering.ts';
import type { RemovingJob } from '../../../kernel/jobs/job-runner.ts';
import type { Reader } from '../../../kernel/storage/database.ts';
import { SECOND_CHECK_MS } from '../../../kernel/time/clock-guard.ts';
import { type Cutoff, earlier } from '../../../kernel/time/cutoff.ts';
import * as store from '../store.ts';
import { findVerified } from '../verification/verified-store.ts';
import type { ArchivedEntry } from './archive-object.ts';
import * as archives from './archive-store.ts';
import { type ArchivingParts, factsOf, verifiedObject } from './archiving.ts';

const JOB = 'prune-audit';
const ACTION = 'audit:prune';
const TENANTS_AT_ONCE = 100;
const RANGES_AT_ONCE = 64;
const CHECKPOINTS_PAGE = 64;
/** Longer than any node takes to write an object. */
const UNFINISHED_RETENTION_MS = DAY_MS;

export interface PruningParts extends ArchivingParts {
  /** How long entries stay in the database, in days. */
  keepDays: number;
  /** The last entry that everybody who reads the log in order has read: exporters and counts. */
  readUpTo(db: Reader, tenantId: string): Promise<number>;
}

/**
 * Deletes archived ranges from the database once they are old enough. Each is read back from the archive and verified once more, and the log up to
 * it must have been verified. What verification needs of the range stays.
 */
export function pruneAuditJob(parts: PruningParts): RemovingJob {
  const { database, regionGate, log } = parts.kernel;
  return {
    name: JOB,
    intervalMs: 6 * HOUR_MS,
    isLong: true,
    // Nothing is lost: every range was read back from the archive, and can be restored from there.
    removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
    async run(signal, cutoff) {
      await removeUnfinished(parts, cutoff);
      for (let after = ''; ; ) {
        const tenants = await store.tenantsAfter(database.read, after, Number.MAX_SAFE_INTEGER, TENANTS_AT_ONCE);
        for (const tenantId of tenants) {
          if (signal.aborted) return;
          if (!(await regionGate.isServedHere(tenantId))) continue;
          try {
            await pruneTenant(parts, tenantId, cutoff, signal);
          } catch (error) {
            if (error instanceof CofferError) throw error;
            log.error({ tenant_id: tenantId, ...factsOf(error) }, 'an archived range was not pruned');
          }
        }
        const last = tenants.at(-1);
        if (last === undefined || tenants.length < TENANTS_AT_ONCE) return;
        after = last;
      }
    },
  };
}

/** Nothing depends on it: it is tried again with the next run. */
async function removeUnfinished({ target, kernel }: PruningParts, cutoff: Cutoff): Promise<void> {
  try {
    await target.removeUnfinished(earlier(cutoff, UNFINISHED_RETENTION_MS));
  } catch (error) {
    kernel.log.warn(factsOf(error), 'unfinished files in the archive could not be deleted');
  }
}

async function pruneTenant(parts: PruningParts, tenantId: string, cutoff: Cutoff, signal: AbortSignal): Promise<void> {
  const { read } = parts.kernel.database.forTenant(tenantId, 'bulk');
  for (;;) {
    const ranges = await archives.prunable(read, tenantId, earlier(cutoff, parts.keepDays * DAY_MS), RANGES_AT_ONCE);
    const due = ranges.filter(({ restored_until }) => restored_until === null || restored_until <= cutoff);
    const [next] = due;
    if (next === undefined || signal.aborted) return;
    const verified = await findVerified(read, tenantId);
    const isVerified = verified !== null && verified.is_valid === 1 && verified.seq >= next.last_seq;
    if (!isVerified || (await parts.readUpTo(read, tenantId)) < next.last_seq) return;
    await pruneRange(parts, next);
  }
}

/** Deletes the segments in one transaction with the row that says so, and the audit entry that records it. */
export async function pruneRange(parts: ArchivingParts, row: ArchiveRow): Promise<void> {
  const { kernel } = parts;
  const { tenant_id: tenantId, first_seq, last_seq, archive_no, object } = row;
  const database = kernel.database.forTenant(tenantId, 'bulk');
  const entries = await loadPrunedEntries(parts, row);
  const headKey = await kernel.audit.headKey(tenantId);
  const entry = systemEntry({
    tenantId,
    actorId: `job:${JOB}`,
    action: ACTION,
    resource: 'audit',
    status: 200,
    details: { archive_no, first_seq, last_seq, entries: row.entries, object },
    now: kernel.clock.now(),
  });
  await database.transaction(async (tx) => {
    const change = { pruned_at: kernel.clock.now(), kept: packPruned(entries), restored_until: null };
    if ((await archives.changeArchive(tx, row, change)) === null) return;
    const deleted = await archives.deleteRange(tx, row);
    if (deleted !== row.entries)
      throw new Error(`${deleted} entries were found from ${first_seq} to ${last_seq} instead of ${row.entries}`);
    await kernel.audit.recordIn(tx, [entry], headKey);
  });
}

/**
 * What stays of a range, taken from the object in the archive, which is verified on the way: the entries that record rows, purges or tampering, and
 * the hash at each checkpoint.
 */
async function loadPrunedEntries(parts: ArchivingParts, row: ArchiveRow): Promise<PrunedEntry[]> {
  const { tenant_id, first_seq, last_seq } = row;
  const hashes = { previous_hash: hexOf(row.previous_hash), last_hash: hexOf(row.last_hash) };
  const { entries } = await verifiedObject(parts, { tenant_id, first_seq, last_seq, ...hashes }, row.object);
  const signed = await checkpointSeqs(parts.kernel.database.read, row);
  return entries.flatMap((entry): PrunedEntry[] => {
    if (!entry.isPurged && isNeeded(entry)) return [[entry.seq, entry.hash, entry.text]];
    return signed.has(entry.seq) ? [[entry.seq, entry.hash, null]] : [];
  });
}

function isNeeded({ text }: ArchivedEntry): boolean {
  return recordsIn(text).length > 0 || purgeIn(text) !== null || text.includes(TAMPERING_ACTION);
}

async function checkpointSeqs(db: Reader, { tenant_id, first_seq, last_seq }: ArchiveRow): Promise<Set<number>> {
  const seqs = new Set<number>();
  let from = first_seq;
  for (;;) {
    const rows = await store.checkpointsBetween(db, tenant_id, { fromSeq: from, lastSeq: last_seq }, CHECKPOINTS_PAGE);
    for (const { seq } of rows) seqs.add(seq);
    const last = rows.at(-1);
    if (last === undefined || rows.length < CHECKPOINTS_PAGE) return seqs;
    from = last.seq + 1;
  }
}
