import type { ArchiveRow } from '../../../kernel/audit/chain/archived-ranges.ts';
import { GENESIS_HASH, hexOf, linkHash } from '../../../kernel/audit/chain/chain.ts';
import { segmentsFrom, windowEnd } from '../../../kernel/audit/chain/chain-walk.ts';
import { resumedAfter } from '../../../kernel/audit/chain/restored-chain.ts';
import { hashAt, purgedBy, textsOf } from '../../../kernel/audit/chain/segment.ts';
import { systemEntry } from '../../../kernel/audit/entry/system-entry.ts';
import { DAY_MS, HOUR_MS, timestamp } from '../../../kernel/base/clock.ts';
import { CofferError } from '../../../kernel/base/errors.ts';
import { yielder } from '../../../kernel/fairness/yielding.ts';
import type { KeepingJob } from '../../../kernel/jobs/job-runner.ts';
import { OutgoingFailure } from '../../../kernel/outbound/http-client.ts';
import { UniqueViolation } from '../../../kernel/storage/database.ts';
import { ForgedRowError } from '../../../kernel/storage/row-keys.ts';
import * as store from '../store.ts';
import type { VerificationParts } from '../verification/verification.ts';
import { type ArchiveTarget, ArchiveTargetError } from './archive-folder.ts';
import {
  type ArchivedEntry,
  type ArchivedRange,
  ArchiveError,
  buildObject,
  hexDigest,
  objectName,
  openObject,
} from './archive-object.ts';
import * as archives from './archive-store.ts';

const JOB = 'archive-audit';
const ACTION = 'audit:archive';
const TENANTS_AT_ONCE = 100;
/** An object has this many entries, or fewer if its first one is older than a day. */
const OBJECT_ENTRIES = 65_536;
const OBJECT_TEXT_CHARS = 64 * 1024 * 1024;
const WAIT_MS = DAY_MS;

const WHAT_TO_DO =
  'Check that what CV_AUDIT_ARCHIVE names exists, that the service may write to it, and that it has free space. Entries stay in the database meanwhile, and are archived automatically once it works.';

const CHANGED =
  'The log, the record of an archive or the object itself was changed. Call GET /v1/audit/verify with a token of that tenant; bring a changed object back from a copy of the archive. Nothing is pruned meanwhile.';

export interface ArchivingParts extends VerificationParts {
  target: ArchiveTarget;
}

/** Writes ranges of the logs to the archive, each as one object, and reads it back before it is recorded. Nothing is deleted. */
export function archiveAuditJob(parts: ArchivingParts): KeepingJob {
  const { database, regionGate, metrics, log } = parts.kernel;
  return {
    name: JOB,
    intervalMs: HOUR_MS,
    isLong: true,
    removes: 'nothing',
    async run(signal) {
      let failure: unknown = null;
      for (let after = ''; failure === null; ) {
        const tenants = await store.tenantsAfter(database.read, after, Number.MAX_SAFE_INTEGER, TENANTS_AT_ONCE);
        for (const tenantId of tenants) {
          if (signal.aborted) return;
          if (!(await regionGate.isServedHere(tenantId))) continue;
          try {
            while (!signal.aborted && (await archiveNext(parts, tenantId)));
          } catch (error) {
            if (error instanceof CofferError) throw error;
            failure ??= error;
            log.error({ tenant_id: tenantId, ...factsOf(error) }, 'an audit log could not be archived');
          }
        }
        const last = tenants.at(-1);
        if (last === undefined || tenants.length < TENANTS_AT_ONCE) break;
        after = last;
      }
      metrics.archiveFailing.set(failure === null ? 0 : 1);
      if (failure !== null) throw new Error('not every audit log could be archived', { cause: failure });
    },
  };
}

/** What the operator gets to know of a failure. Messages of errors that are not our own may contain anything. */
export function factsOf(error: unknown): { err: unknown; problem: string; what_to_do: string } {
  const isOfLog = error instanceof ArchiveError || error instanceof ForgedRowError;
  const isOwn = isOfLog || error instanceof ArchiveTargetError || error instanceof OutgoingFailure;
  const problem = isOwn ? error.message : String((error as NodeJS.ErrnoException).code ?? 'unexpected');
  return { err: error, problem, what_to_do: isOfLog ? CHANGED : WHAT_TO_DO };
}

/** Archives the next range of a log; returns false if there is none yet. */
export async function archiveNext(parts: ArchivingParts, tenantId: string): Promise<boolean> {
  const { kernel, keys, target } = parts;
  const database = kernel.database.forTenant(tenantId, 'bulk');
  const last = await archives.lastArchive(database.read, tenantId);
  const next = await nextRange(parts, tenantId, last);
  if (next === null) return false;
  const { range, entries } = next;
  const name = objectName(range);
  const object = await buildObject({ keyring: kernel.keyring, keys }, range, entries, kernel.clock.now());
  await target.write(name, object);
  // An object that an earlier run wrote before it was interrupted is as good as this one, if it has the same entries.
  const { digest } = await verifiedObject(parts, range, name);
  const row: ArchiveRow = {
    tenant_id: tenantId,
    archive_no: (last?.archive_no ?? 0) + 1,
    first_seq: range.first_seq,
    last_seq: range.last_seq,
    entries: range.entries,
    previous_hash: Buffer.from(range.previous_hash, 'hex'),
    last_hash: Buffer.from(range.last_hash, 'hex'),
    first_at: Date.parse(range.from),
    last_at: Date.parse(range.to),
    object: name,
    digest,
    archived_at: kernel.clock.now(),
    pruned_at: null,
    kept: null,
    restored_until: null,
  };
  const { first_seq, last_seq, entries: count } = range;
  const entry = systemEntry({
    tenantId,
    actorId: `job:${JOB}`,
    action: ACTION,
    resource: 'audit',
    status: 200,
    details: { archive_no: row.archive_no, first_seq, last_seq, entries: count, object: name, digest },
    now: kernel.clock.now(),
  });
  const headKey = await kernel.audit.headKey(tenantId);
  try {
    await database.transaction(async (tx) => {
      await archives.insertArchive(tx, row);
      await kernel.audit.recordIn(tx, [entry], headKey);
    });
  } catch (error) {
    // Another node recorded the same range.
    if (!(error instanceof UniqueViolation)) throw error;
  }
  return true;
}

/** Reads an object back and verifies that it has exactly this range. */
export async function verifiedObject(
  { kernel, keys, target }: ArchivingParts,
  range: Pick<ArchivedRange, 'tenant_id' | 'first_seq' | 'last_seq' | 'previous_hash' | 'last_hash'>,
  name: string,
): Promise<{ digest: string; entries: ArchivedEntry[] }> {
  const object = await target.read(name);
  if (object === null) throw new ArchiveError(`the archive has no ${name}`);
  const found = await openObject({ keyring: kernel.keyring, keys }, range.tenant_id, object);
  const isSame = (['first_seq', 'last_seq', 'previous_hash', 'last_hash'] as const).every(
    (field) => found.range[field] === range[field],
  );
  if (!isSame) throw new ArchiveError(`${name} has other entries than it should have`);
  return { digest: hexDigest(object), entries: found.entries };
}

/** Reads full windows of the chain after the last archive, as far as a checkpoint covers them, and recomputes the chain on the way. */
async function nextRange(
  { kernel }: ArchivingParts,
  tenantId: string,
  last: ArchiveRow | undefined,
): Promise<{ range: ArchivedRange; entries: ArchivedEntry[] } | null> {
  const { read } = kernel.database.forTenant(tenantId, 'bulk');
  const signedSeq = (await store.newestCheckpoint(read, tenantId))?.seq ?? 0;
  const yieldNow = yielder(tenantId);
  const entries: ArchivedEntry[] = [];
  const begin = { seq: last?.last_seq ?? 0, hash: hexOf(last?.last_hash ?? GENESIS_HASH) };
  let at = begin;
  let chars = 0;
  const times = { from: Number.POSITIVE_INFINITY, to: 0 };
  while (entries.length < OBJECT_ENTRIES && chars < OBJECT_TEXT_CHARS) {
    const segments = await segmentsFrom(read, tenantId, at.seq + 1);
    const first = Number(segments[0]?.first_seq ?? 0);
    const end = segments.reduce((seq, row) => Math.max(seq, Number(row.first_seq) + textsOf(row).length - 1), 0);
    if (first === 0 || end > signedSeq || windowEnd(first) - 1 > signedSeq) break;
    for (const segment of segments) {
      const texts = textsOf(segment);
      for (const [i, text] of texts.entries()) {
        const entry = linkedAfter(at, tenantId, { seq: Number(segment.first_seq) + i, text }, segment);
        at = entry;
        chars += text.length;
        entries.push(entry);
        const time = entry.isPurged ? null : Number((JSON.parse(text) as unknown[])[1]);
        if (time !== null) Object.assign(times, { from: Math.min(times.from, time), to: Math.max(times.to, time) });
      }
      await yieldNow(texts.length);
    }
  }
  const isEnough = entries.length >= OBJECT_ENTRIES || chars >= OBJECT_TEXT_CHARS;
  if (entries.length === 0 || (!isEnough && times.from > kernel.clock.now() - WAIT_MS)) return null;
  const range = {
    tenant_id: tenantId,
    first_seq: begin.seq + 1,
    last_seq: at.seq,
    entries: entries.length,
    previous_hash: begin.hash,
    last_hash: at.hash,
    from: timestamp(Number.isFinite(times.from) ? times.from : times.to),
    to: timestamp(times.to),
  };
  return { range, entries };
}

type Segment = Parameters<typeof hashAt>[0];

/** The next entry of the chain. What was edited is not archived: verification reports it. */
function linkedAfter(
  before: { seq: number; hash: string },
  tenantId: string,
  { seq, text }: { seq: number; text: string },
  segment: Segment,
): ArchivedEntry {
  const entryHash = hashAt(segment, seq);
  const isPurged = purgedBy(text) !== null;
  const follows = seq === before.seq + 1 || resumedAfter(text) === before.seq;
  if (!follows || (!isPurged && linkHash(before.hash, tenantId, seq, text) !== entryHash))
    throw new ArchiveError(
      `entry ${before.seq + 1} of the log was changed or removed: nothing is archived from there on`,
    );
  return { seq, hash: entryHash, text, isPurged };
}
