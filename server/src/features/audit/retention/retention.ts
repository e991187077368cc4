import { GENESIS_HASH, hexOf } from '../../../kernel/audit/chain/chain.ts';
import { hashUpTo } from '../../../kernel/audit/chain/chain-position.ts';
import { segmentsFrom, windowEnd } from '../../../kernel/audit/chain/chain-walk.ts';
import { PURGE_ACTION } from '../../../kernel/audit/chain/purged-entries.ts';
import { readEntries } from '../../../kernel/audit/chain/segment.ts';
import { systemEntry } from '../../../kernel/audit/entry/system-entry.ts';
import { DAY_MS, HOUR_MS } from '../../../kernel/base/clock.ts';
import { timeOfId } from '../../../kernel/base/ids.ts';
import { yielder } from '../../../kernel/fairness/yielding.ts';
import type { RemovingJob } from '../../../kernel/jobs/job-runner.ts';
import type { Share } from '../../../kernel/jobs/share.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { AuditSegmentsTable } from '../../../kernel/storage/tables.ts';
import { SECOND_CHECK_MS } from '../../../kernel/time/clock-guard.ts';
import type { Cutoff } from '../../../kernel/time/cutoff.ts';
import { auditRetentions } from '../../vaults/storage/index.ts';
import * as store from '../store.ts';
import { type VerificationParts, verify } from '../verification/verification.ts';
import { isExpired, planPurge, type RetentionRules, rewriteSegments, type Window } from './purge-plan.ts';

const JOB = 'purge-audit';
const TENANTS_AT_ONCE = 100;
/** One run may purge this many entries, whatever their share of all entries. */
const PURGE_FLOOR = 10_000;
/** Segments are in chain order, which may differ a little from time order. */
const TIME_ORDER_TOLERANCE_MS = HOUR_MS;

const WHAT_TO_DO =
  'Call GET /v1/audit/verify with a token of that tenant: it reports what was changed in the database. Entries are purged again once it finds no problem.';

/**
 * Purges entries past their vault's retention period. Their hashes stay, and an audit entry records the purge in the same transaction. The chain can
 * thus still be verified from its beginning, and entries that anyone else deletes are detected.
 */
export function purgeAuditJob(parts: VerificationParts): RemovingJob {
  return {
    name: JOB,
    intervalMs: 6 * HOUR_MS,
    isLong: true,
    removes: { secondCheckMs: SECOND_CHECK_MS, share: (cutoff) => sharesOf(parts, cutoff) },
    async run(signal, cutoff) {
      for await (const [tenantId, rules] of tenantsWithRules(parts, cutoff)) {
        if (signal.aborted) return;
        await purgeTenant(parts, tenantId, { rules, cutoff }, signal);
      }
    },
  };
}

async function* tenantsWithRules(
  parts: VerificationParts,
  cutoff: Cutoff,
): AsyncGenerator<[tenantId: string, rules: RetentionRules]> {
  const { read } = parts.kernel.database;
  for (let after = ''; ; ) {
    const tenants = await store.tenantsAfter(read, after, cutoff, TENANTS_AT_ONCE);
    for (const tenantId of tenants) {
      // The log of a tenant of another region is a copy, which that region purges.
      if (!(await parts.kernel.regionGate.isServedHere(tenantId))) continue;
      const rules = await rulesOf(read, tenantId);
      if (rules.size > 0) yield [tenantId, rules];
    }
    const last = tenants.at(-1);
    if (last === undefined || tenants.length < TENANTS_AT_ONCE) return;
    after = last;
  }
}

async function rulesOf(db: Reader, tenantId: string): Promise<RetentionRules> {
  return new Map((await auditRetentions(db, tenantId)).map((rule) => [rule.vault, rule]));
}

async function sharesOf(parts: VerificationParts, cutoff: Cutoff): Promise<Share[]> {
  const { read } = parts.kernel.database;
  let expired = 0;
  let purged = 0;
  for await (const [tenantId, rules] of tenantsWithRules(parts, cutoff)) {
    for await (const window of windowsOf(parts, tenantId, { rules, cutoff }, await signedSeq(parts, tenantId))) {
      expired += window.expired;
      purged += window.purged;
    }
  }
  const total = async () => (await store.countLinked(read)) - purged;
  return [{ of: 'audit entries', expired, floor: PURGE_FLOOR, total }];
}

async function signedSeq({ kernel }: VerificationParts, tenantId: string): Promise<number> {
  return (await store.newestCheckpoint(kernel.database.read, tenantId))?.seq ?? 0;
}

interface CountedWindow {
  fromSeq: number;
  expired: number;
  purged: number;
}

/** Yields the windows of a chain that may contain expired entries. */
async function* windowsOf(
  { kernel }: VerificationParts,
  tenantId: string,
  { rules, cutoff }: { rules: RetentionRules; cutoff: Cutoff },
  lastSeq: number,
): AsyncGenerator<CountedWindow> {
  let shortestDays = Number.POSITIVE_INFINITY;
  for (const { days } of rules.values()) shortestDays = Math.min(shortestDays, days);
  const newest = cutoff - shortestDays * DAY_MS + TIME_ORDER_TOLERANCE_MS;
  const yieldNow = yielder(tenantId);
  for (let seq = 1; seq <= lastSeq; ) {
    const segments = await segmentsFrom(kernel.database.forTenant(tenantId, 'bulk').read, tenantId, seq);
    const [first] = segments;
    if (first === undefined || beginOf(first) > newest) return;
    const window = { fromSeq: Number(first.first_seq), expired: 0, purged: 0 };
    for (const segment of segments) {
      const entries = kernel.damagedSegments.entriesIn(segment);
      for (const [i, entry] of entries.entries()) {
        if (entry === null) window.purged++;
        else if (Number(segment.first_seq) + i <= lastSeq && isExpired(entry, rules, cutoff)) window.expired++;
      }
      await yieldNow(entries.length);
    }
    yield window;
    seq = windowEnd(window.fromSeq);
  }
}

/** The time of the first entry that a segment still has. */
function beginOf(segment: AuditSegmentsTable): number {
  return readEntries(segment)?.find((entry) => entry !== null)?.at ?? timeOfId(segment.id);
}

/**
 * Purges only if the tenant's log and rows verify, because a vault row that somebody reset to an older version could have a shorter retention period.
 * Only entries covered by a checkpoint are purged.
 */
async function purgeTenant(
  parts: VerificationParts,
  tenantId: string,
  { rules, cutoff }: { rules: RetentionRules; cutoff: Cutoff },
  signal: AbortSignal,
): Promise<void> {
  let verifiedSeq: number | null = null;
  for await (const { fromSeq, expired } of windowsOf(
    parts,
    tenantId,
    { rules, cutoff },
    await signedSeq(parts, tenantId),
  )) {
    if (expired === 0) continue;
    verifiedSeq ??= await verifiedUpTo(parts, tenantId, signal);
    if (verifiedSeq === 0) return;
    let purged = 1;
    while (purged > 0 && !signal.aborted) {
      purged = await purgeWindow(parts, tenantId, { fromSeq, lastSeq: verifiedSeq, rules, cutoff });
    }
    if (signal.aborted) return;
  }
}

async function verifiedUpTo(parts: VerificationParts, tenantId: string, signal: AbortSignal): Promise<number> {
  const { valid, signed_seq } = await verify(parts, tenantId, { signal });
  if (valid) return signed_seq;
  const facts = { tenant_id: tenantId, what_to_do: WHAT_TO_DO };
  parts.kernel.log.error(facts, 'the audit log of a tenant fails verification: nothing is purged from it');
  return 0;
}

interface Purge {
  fromSeq: number;
  lastSeq: number;
  rules: RetentionRules;
  cutoff: Cutoff;
}

/** Purges in one transaction with the audit entry that records it, and returns the number of purged entries. */
async function purgeWindow(parts: VerificationParts, tenantId: string, purge: Purge): Promise<number> {
  const { kernel } = parts;
  const headKey = await kernel.audit.headKey(tenantId);
  return kernel.database.forTenant(tenantId, 'bulk').transaction(async (tx) => {
    // The retention period may have been extended meanwhile, so an entry must be expired under both the earlier and the current rules.
    const rules = [purge.rules, await rulesOf(tx, tenantId)];
    const window = await lockedWindow(tx, tenantId, purge);
    const plan = planPurge(window, (entry) => rules.every((one) => isExpired(entry, one, purge.cutoff)));
    if (plan === null) return 0;
    const entry = systemEntry({
      tenantId,
      actorId: `job:${JOB}`,
      action: PURGE_ACTION,
      resource: 'audit',
      status: 200,
      details: { ...plan.record },
      now: kernel.clock.now(),
    });
    const { changed, merged } = rewriteSegments(window, plan, entry.id);
    await store.deleteSegments(tx, tenantId, merged);
    for (const row of changed) await store.updateSegment(tx, row);
    await kernel.audit.recordIn(tx, [entry], headKey);
    return plan.record.entries;
  });
}

async function lockedWindow(tx: Tx, tenantId: string, { fromSeq, lastSeq }: Purge): Promise<Window> {
  const segments = await store.lockWindow(tx, tenantId, fromSeq);
  // The last hash of the previous segment applies whatever its sequence number, because a restored chain may skip numbers.
  const hashBefore = (await hashUpTo(tx, tenantId, fromSeq - 1)) ?? hexOf(GENESIS_HASH);
  return { segments, hashBefore, lastSeq };
}
