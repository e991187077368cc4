import type { AuditSegmentsTable } from '../storage/tables.ts';
import { HASH_BYTES, hexOf, type Links } from './chain.ts';
import { type AuditEntry, entryOf, entryText } from './entry.ts';
import type { PurgedRun } from './purged-entries.ts';

/**
 * Entries that are committed together are stored in one row. A row for each would cost more in the insert, its indexes and the pages written per
 * commit, and on PostgreSQL a second write of each when it is linked (docs/decisions/0008-audit-in-segments.md).
 */
export interface NewSegment {
  id: string;
  texts: readonly string[];
}

export function newSegment(entries: readonly AuditEntry[]): NewSegment {
  return { id: latestId(entries), texts: entries.map(entryText) };
}

/**
 * A segment has the id of its latest entry, so that the log reads in time order even if segments of the same moment are written in another order.
 */
function latestId(entries: readonly AuditEntry[]): string {
  let latest = '';
  for (const { id } of entries) if (id > latest) latest = id;
  return latest;
}

/** A segment belongs to one tenant: entries of another tenant would be linked into the wrong chain. */
export function tenantOf(entries: readonly AuditEntry[]): string {
  const tenants = new Set(entries.map((entry) => entry.tenant_id));
  const [tenantId] = tenants;
  if (tenants.size !== 1 || tenantId === undefined) throw new Error('entries of one tenant are recorded together');
  return tenantId;
}

export function segmentText(texts: readonly string[]): string {
  return `[${texts.join(',')}]`;
}

/** If only one process writes, segments are linked as they are inserted. */
const OF_NO_NODE = { node_id: null, node_no: null, voids: null, mac: null, mac_key_version: null };

export function segmentRow(tenantId: string, segment: NewSegment, links: Links | null): AuditSegmentsTable {
  return {
    tenant_id: tenantId,
    id: segment.id,
    entries: segmentText(segment.texts),
    first_seq: links?.firstSeq ?? null,
    hashes: links?.hashes ?? null,
    ...OF_NO_NODE,
  };
}

/** An entry with its sequence number and hash, if it is linked. */
export interface StoredEntry extends AuditEntry {
  seq: number | null;
  hash: Uint8Array | null;
}

export function entriesOf(row: AuditSegmentsTable): StoredEntry[] {
  return placesOf(row).filter((entry) => entry !== null);
}

/** The entries of a segment by position; null for a purged one. */
export function placesOf(row: AuditSegmentsTable): (StoredEntry | null)[] {
  return parseEntries(row).map((fields, i) =>
    Array.isArray(fields)
      ? {
          ...entryOf(row.tenant_id, fields),
          seq: row.first_seq === null ? null : row.first_seq + i,
          hash: row.hashes === null ? null : row.hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES),
        }
      : null,
  );
}

/** The hash at a sequence number, in hexadecimal; empty if the segment has none. */
export function hashAt(row: AuditSegmentsTable | undefined, seq: number): string {
  const at = (seq - Number(row?.first_seq)) * HASH_BYTES;
  return hexOf(row?.hashes?.subarray(at, at + HASH_BYTES) ?? new Uint8Array());
}

/**
 * The text of each entry as it was hashed: JSON that we wrote ourselves serializes to the same text. A purged entry has another form (`purgedBy`).
 */
export function textsOf(row: Stored): string[] {
  return parseEntries(row).map((fields) => JSON.stringify(fields));
}

/** The id of the purge that removed this entry; null if the entry is present, because the text of an entry is always a list. */
export function purgedBy(text: string): string | null {
  if (!text.startsWith('{')) return null;
  return String((JSON.parse(text) as Partial<PurgedRun>).purged_by);
}

export function purgedText(purge: string): string {
  return JSON.stringify({ purged_by: purge });
}

/** Like `segmentText`, with consecutive entries of the same purge merged. */
export function segmentTextWithPurged(texts: readonly string[]): string {
  const parts: string[] = [];
  for (let at = 0; at < texts.length; ) {
    const text = texts[at] ?? '';
    const purge = purgedBy(text);
    let entries = 1;
    if (purge !== null) while (texts[at + entries] === text) entries++;
    parts.push(purge === null ? text : JSON.stringify({ purged_by: purge, entries } satisfies PurgedRun));
    at += entries;
  }
  return segmentText(parts);
}

/**
 * Returns one item per entry. Anyone who can write to the database can claim any number of purged entries, so there may be no more than there are
 * hashes.
 */
function parseEntries({ entries, hashes }: Stored): (unknown[] | { purged_by: string })[] {
  let left = (hashes?.length ?? 0) / HASH_BYTES;
  return (JSON.parse(entries) as (unknown[] | PurgedRun)[]).flatMap((part) => {
    left -= Array.isArray(part) ? 1 : part.entries;
    if (Array.isArray(part)) return [part];
    const { purged_by, entries: count } = part;
    if (!Number.isSafeInteger(count) || count < 1 || left < 0)
      throw new Error('a segment of the audit log is malformed');
    return Array.from({ length: count }, () => ({ purged_by }));
  });
}

type Stored = Pick<AuditSegmentsTable, 'entries'> & Partial<Pick<AuditSegmentsTable, 'hashes'>>;
