import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { timeOfId } from '../../base/ids.ts';
import type { AuditSegmentsTable } from '../../storage/tables.ts';
import { type AuditEntry, entryOf, entryText, isEntry } from '../entry/entry.ts';
import { HASH_BYTES, hexOf, type Links } from './chain.ts';
import type { PurgedRun } from './purged-entries.ts';

/**
 * Entries that are committed together are stored in one row. One row per entry would make inserts, indexes and commits more expensive, and on
 * PostgreSQL each row would be written again when it is linked (docs/decisions/0008-audit-in-segments.md).
 */
export interface NewSegment {
  id: string;
  texts: readonly string[];
}

/** A page of the log is read by segments, and each is parsed in one step, so a segment may be neither long nor large. */
const SEGMENT_ENTRIES_MAX = 250;
const SEGMENT_CHARS_MAX = 512 * 1024;

/** The entries in segments that are small enough, in their order. */
export function newSegments(entries: readonly AuditEntry[]): NewSegment[] {
  return cutForSegments(entries).map((part) => ({ id: latestId(part.entries), texts: part.texts }));
}

export interface Part {
  entries: AuditEntry[];
  texts: string[];
  /** The length of all texts. */
  chars: number;
}

/** Cuts entries that are committed together where a segment must end. */
export function cutForSegments(entries: readonly AuditEntry[]): Part[] {
  const parts: Part[] = [];
  let part: Part | undefined;
  for (const entry of entries) {
    const text = entryText(entry);
    if (part === undefined || !fitsSegment(part.texts.length + 1, part.chars + text.length)) {
      part = { entries: [], texts: [], chars: 0 };
      parts.push(part);
    }
    part.entries.push(entry);
    part.texts.push(text);
    part.chars += text.length;
  }
  return parts;
}

export function fitsSegment(entries: number, chars: number): boolean {
  return entries <= SEGMENT_ENTRIES_MAX && chars <= SEGMENT_CHARS_MAX;
}

/**
 * A segment has the id of its latest entry, so that segments sorted by id are in time order, even if concurrent ones are inserted in another order.
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
  if (tenants.size !== 1 || tenantId === undefined)
    throw new Error('a segment must have entries of exactly one tenant');
  return tenantId;
}

export function segmentText(texts: readonly string[]): string {
  return `[${texts.join(',')}]`;
}

/** Only PostgreSQL nodes fill these columns. If one process writes, segments are linked as they are inserted and need no origin. */
const NO_ORIGIN = { node_id: null, node_no: null, voids: null, mac: null, mac_key_version: null, schema_version: null };

export function segmentRow(tenantId: string, segment: NewSegment, links: Links | null): AuditSegmentsTable {
  return {
    tenant_id: tenantId,
    id: segment.id,
    entries: segmentText(segment.texts),
    first_seq: links?.firstSeq ?? null,
    hashes: links?.hashes ?? null,
    packed: null,
    ...NO_ORIGIN,
  };
}

/** A row that was edited must not make a reader allocate more than this. Segments with longer texts stay unpacked. */
export const PACKED_TEXT_BYTES_MAX = 4 * 1024 * 1024;

/** Consecutive linked segments as one, compressed. `texts` are all their entries, and `hashes` the hashes of those. The last one's id is the latest. */
export function packedRow(
  last: AuditSegmentsTable,
  firstSeq: number,
  texts: readonly string[],
  hashes: Uint8Array,
): AuditSegmentsTable {
  return { ...last, ...NO_ORIGIN, first_seq: firstSeq, hashes, ...storedTexts(texts, true) };
}

/** The columns that hold the texts of a segment. */
function storedTexts(texts: readonly string[], isPacked: boolean): Pick<AuditSegmentsTable, 'entries' | 'packed'> {
  const entries = segmentTextWithPurged(texts);
  return isPacked ? { entries: '', packed: deflateRawSync(entries) } : { entries, packed: null };
}

/** The segment with these texts instead of its own, which may be purged ones. */
export function withTexts(row: AuditSegmentsTable, texts: readonly string[]): AuditSegmentsTable {
  return { ...row, ...storedTexts(texts, row.packed !== null) };
}

/** An entry with its sequence number and hash, if it is linked. */
export interface StoredEntry extends AuditEntry {
  seq: number | null;
  hash: Uint8Array | null;
}

export function entriesOf(row: AuditSegmentsTable): StoredEntry[] {
  return entriesByPosition(row).filter((entry) => entry !== null);
}

/** The entries of a segment by position, null for a purged one; null altogether if somebody changed its text so that it cannot be read. */
export function readEntries(row: AuditSegmentsTable): (StoredEntry | null)[] | null {
  try {
    const entries = entriesByPosition(row);
    const isWhole = row.hashes === null || row.hashes.length === entries.length * HASH_BYTES;
    return isWhole && entries.every((entry) => entry === null || isEntry(entry)) ? entries : null;
  } catch {
    return null;
  }
}

/** The entries of a segment by position; null for a purged one. It throws if the text cannot be read. */
export function entriesByPosition(row: AuditSegmentsTable): (StoredEntry | null)[] {
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

/** When the entry with this sequence number was recorded; if it is not in the segment, or purged, when the latest entry was. */
export function timeAt(row: AuditSegmentsTable, seq: number): number {
  return readEntries(row)?.[seq - Number(row.first_seq)]?.at ?? timeOfId(row.id);
}

/** The hash at a sequence number, in hexadecimal; empty if the segment has none. */
export function hashAt(row: AuditSegmentsTable | undefined, seq: number): string {
  const at = (seq - Number(row?.first_seq)) * HASH_BYTES;
  return hexOf(row?.hashes?.subarray(at, at + HASH_BYTES) ?? new Uint8Array());
}

/**
 * The text of each entry as it was hashed: JSON that we wrote ourselves serializes to the same text. A purged entry has another form (`purgedBy`).
 */
export function textsOf(row: StoredSegment): string[] {
  return [...textsIn(row)];
}

/** The same one by one, because a segment of an import may be long. */
export function* textsIn(row: StoredSegment): Generator<string> {
  for (const fields of parseEntries(row)) yield JSON.stringify(fields);
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
 * Returns one item per entry. A forged row could claim any number of purged entries, so a row that claims more of them than it has hashes is
 * rejected.
 */
function parseEntries({ hashes, ...stored }: StoredSegment): (unknown[] | { purged_by: string })[] {
  let remaining = (hashes?.length ?? 0) / HASH_BYTES;
  return (JSON.parse(segmentTextIn(stored)) as (unknown[] | PurgedRun)[]).flatMap((part) => {
    remaining -= Array.isArray(part) ? 1 : part.entries;
    if (Array.isArray(part)) return [part];
    const { purged_by, entries: count } = part;
    if (!Number.isSafeInteger(count) || count < 1 || remaining < 0)
      throw new Error('a segment of the audit log is malformed');
    return Array.from({ length: count }, () => ({ purged_by }));
  });
}

function segmentTextIn({ entries, packed = null }: StoredSegment): string {
  return packed === null ? entries : inflateRawSync(packed, { maxOutputLength: PACKED_TEXT_BYTES_MAX }).toString();
}

type StoredSegment = Pick<AuditSegmentsTable, 'entries'> & Partial<Pick<AuditSegmentsTable, 'hashes' | 'packed'>>;
