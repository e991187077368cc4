import type { ArchiveRow } from '../../../kernel/audit/chain/archived-ranges.ts';
import { hexOf } from '../../../kernel/audit/chain/chain.ts';
import { windowEnd } from '../../../kernel/audit/chain/chain-walk.ts';
import { packedRow, segmentRow } from '../../../kernel/audit/chain/segment.ts';
import { systemEntry } from '../../../kernel/audit/entry/system-entry.ts';
import { DAY_MS, timestamp } from '../../../kernel/base/clock.ts';
import { idAtTime } from '../../../kernel/base/ids.ts';
import type { AuditSegmentsTable } from '../../../kernel/storage/tables.ts';
import { PACKED_ENTRIES_MAX } from '../compaction/compaction-plan.ts';
import type { VerificationParts } from '../verification/verification.ts';
import { type ArchivedEntry, ArchiveError, openObject } from './archive-object.ts';
import * as archives from './archive-store.ts';

const ACTION = 'audit:restore';

/**
 * Brings the entries of an archived range back into the database, where they are listed and verified like all others, until the day on which they
 * are pruned again. The object must be the one that the row describes.
 */
export async function restoreRange(
  { kernel, keys }: VerificationParts,
  row: ArchiveRow,
  object: Uint8Array,
  days: number,
): Promise<void> {
  const { tenant_id: tenantId, archive_no, first_seq, last_seq } = row;
  const { range, entries } = await openObject({ keyring: kernel.keyring, keys }, tenantId, object);
  const isSame =
    range.first_seq === first_seq &&
    range.last_seq === last_seq &&
    range.previous_hash === hexOf(row.previous_hash) &&
    range.last_hash === hexOf(row.last_hash);
  if (!isSame) throw new ArchiveError('it has other entries than were archived there');
  const now = kernel.clock.now();
  const restored_until = now + days * DAY_MS;
  const entry = systemEntry({
    tenantId,
    actorId: 'operator',
    action: ACTION,
    resource: 'audit',
    status: 200,
    details: { archive_no, first_seq, last_seq, entries: row.entries, restored_until: timestamp(restored_until) },
    now,
  });
  const headKey = await kernel.audit.headKey(tenantId);
  const segments = segmentsOf(tenantId, entries, row.first_at);
  await kernel.database.forTenant(tenantId, 'bulk').transaction(async (tx) => {
    const changed = await archives.changeArchive(tx, row, { pruned_at: null, kept: null, restored_until });
    if (changed === null) throw new ArchiveError('it was restored by somebody else meanwhile');
    await archives.insertSegments(tx, segments);
    await kernel.audit.recordIn(tx, [entry], headKey);
  });
}

/** Segments as compaction leaves them: within a window of the chain, and with consecutive numbers. */
function segmentsOf(tenantId: string, entries: readonly ArchivedEntry[], time: number): AuditSegmentsTable[] {
  const rows: AuditSegmentsTable[] = [];
  // A segment whose entries were all purged gets an id of about its time.
  let latestId = idAtTime('audit', time);
  for (let at = 0; at < entries.length; ) {
    const first = entries[at] as ArchivedEntry;
    const end = Math.min(first.seq + PACKED_ENTRIES_MAX, windowEnd(first.seq));
    const some: ArchivedEntry[] = [];
    for (let one = entries[at]; one !== undefined && one.seq < end; one = entries[++at]) {
      if (one.seq !== first.seq + some.length) break;
      some.push(one);
    }
    const ids = some.filter(({ isPurged }) => !isPurged).map(({ text }) => String((JSON.parse(text) as unknown[])[0]));
    latestId = ids.length > 0 ? ids.reduce((a, b) => (a > b ? a : b)) : nextId(latestId);
    const texts = some.map(({ text }) => text);
    const hashes = Buffer.from(some.map(({ hash }) => hash).join(''), 'hex');
    rows.push(packedRow(segmentRow(tenantId, { id: latestId, texts: [] }, null), first.seq, texts, hashes));
  }
  return rows;
}

/** The id after this one, in the order of ids. */
function nextId(id: string): string {
  const start = id.lastIndexOf('_') + 1;
  const [prefix, digits] = [id.slice(0, start), id.slice(start)];
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
  const last = digits.search(/[^z](?=z*$)/);
  const next = alphabet[alphabet.indexOf(digits[last] ?? '0') + 1] ?? '0';
  return `${prefix}${digits.slice(0, last)}${next}${'0'.repeat(digits.length - last - 1)}`;
}
