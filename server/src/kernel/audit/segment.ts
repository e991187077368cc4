import type { AuditSegmentsTable } from '../storage/tables.ts';
import { HASH_BYTES, type Links } from './chain.ts';
import { type AuditEntry, entryOf, entryText } from './entry.ts';

/**
 * Entries that are committed together are stored together, in one row: a row for each costs more in the insert, its indexes and the pages
 * every commit writes, and on PostgreSQL a second write of each when it is sealed (docs/decisions/0008).
 */
export interface NewSegment {
  id: string;
  texts: readonly string[];
}

export function newSegment(entries: readonly AuditEntry[]): NewSegment {
  return { id: latestId(entries), texts: entries.map(entryText) };
}

/** A segment is called by its latest entry: the log then reads in order of time, also where segments of one moment are written out of turn. */
function latestId(entries: readonly AuditEntry[]): string {
  let latest = '';
  for (const { id } of entries) if (id > latest) latest = id;
  return latest;
}

/** A segment is of one tenant: entries of another would be linked into a chain that is not theirs. */
export function tenantOf(entries: readonly AuditEntry[]): string {
  const tenants = new Set(entries.map((entry) => entry.tenant_id));
  const [tenantId] = tenants;
  if (tenants.size !== 1 || tenantId === undefined) throw new Error('entries of one tenant are recorded together');
  return tenantId;
}

export function segmentText(texts: readonly string[]): string {
  return `[${texts.join(',')}]`;
}

/** Where one process writes, segments are linked as they are inserted. */
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

/** An entry with its place and hash, if it has them yet. */
export interface StoredEntry extends AuditEntry {
  seq: number | null;
  hash: Uint8Array | null;
}

export function entriesOf(row: AuditSegmentsTable): StoredEntry[] {
  return parseEntries(row.entries).map((fields, i) => ({
    ...entryOf(row.tenant_id, fields),
    seq: row.first_seq === null ? null : row.first_seq + i,
    hash: row.hashes === null ? null : row.hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES),
  }));
}

/** The text of each entry as it was hashed: JSON of our own making comes back the same. */
export function textsOf(row: Pick<AuditSegmentsTable, 'entries'>): string[] {
  return parseEntries(row.entries).map((fields) => JSON.stringify(fields));
}

function parseEntries(text: string): unknown[][] {
  return JSON.parse(text) as unknown[][];
}
