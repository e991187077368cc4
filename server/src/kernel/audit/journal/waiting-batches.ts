import { cutForSegments, fitsSegment, type Part } from '../chain/segment.ts';
import type { AuditEntry } from '../entry/entry.ts';

/**
 * The size of a transaction that moves entries from the journal to the database: its commit costs little per entry, and other commits wait for it only
 * briefly.
 */
const MOVE_ENTRIES_MAX = 500;
const MOVE_SEGMENTS_MAX = 64;
/** A page of the log is read by segments, so a segment may not span much time. */
const SEGMENT_SPAN_MAX_MS = 10_000;

/** Entries of one tenant that became durable together, as many as one segment may have. */
export interface Group {
  tenantId: string;
  texts: string[];
  /** The length of all texts. */
  chars: number;
  /** Sorts by the time of its latest entry. */
  latestId: string;
  earliestAt: number;
  latestAt: number;
}

/** A batch that is durable in the journal but not in the database yet. */
export interface WaitingBatch {
  seq: number;
  groups: readonly Group[];
  entries: number;
  /** A change was recorded after this batch. Its entries must not share a segment with later ones, so that the log reads in time order. */
  isCut: boolean;
}

export interface MoveBatch {
  batches: number;
  lastSeq: number;
  segments: Group[];
}

export function groupEntries(tenantId: string, entries: readonly AuditEntry[]): Group[] {
  return cutForSegments(entries).map((part) => groupPart(tenantId, part));
}

function groupPart(tenantId: string, { entries, texts, chars }: Part): Group {
  const group: Group = { tenantId, texts, chars, latestId: '', earliestAt: Infinity, latestAt: 0 };
  for (const entry of entries) {
    if (entry.id > group.latestId) group.latestId = entry.id;
    if (entry.at < group.earliestAt) group.earliestAt = entry.at;
    if (entry.at > group.latestAt) group.latestAt = entry.at;
  }
  return group;
}

/** The same entries in two parts, because together they are too long for the journal. */
export function halves(groups: readonly Group[]): Group[][] {
  if (groups.length < 2) throw new Error('the entries of one segment are too long for the journal');
  const half = groups.length >> 1;
  return [groups.slice(0, half), groups.slice(half)];
}

/** Merges the oldest batches into segments, as many as one transaction moves. There must be at least one batch. */
export function nextMoveBatch(waiting: readonly WaitingBatch[]): MoveBatch {
  const move: MoveBatch = { batches: 0, lastSeq: 0, segments: [] };
  const growing = new Map<string, Group>();
  let entries = 0;
  for (const batch of waiting) {
    for (const group of batch.groups) mergeInto(move.segments, growing, group);
    move.batches++;
    move.lastSeq = batch.seq;
    entries += batch.entries;
    if (entries >= MOVE_ENTRIES_MAX || move.segments.length >= MOVE_SEGMENTS_MAX) break;
    if (batch.isCut) growing.clear();
  }
  return move;
}

/** Merges groups that are committed together, in their order. */
export function mergeGroups(groups: readonly Group[]): Group[] {
  const segments: Group[] = [];
  const growing = new Map<string, Group>();
  for (const group of groups) mergeInto(segments, growing, group);
  return segments;
}

function mergeInto(segments: Group[], growing: Map<string, Group>, group: Group): void {
  const segment = growing.get(group.tenantId);
  if (segment !== undefined && fits(segment, group)) {
    extend(segment, group);
    return;
  }
  const fresh = { ...group, texts: [...group.texts] };
  growing.set(group.tenantId, fresh);
  segments.push(fresh);
}

function fits(segment: Group, { texts, chars, earliestAt, latestAt }: Group): boolean {
  if (!fitsSegment(segment.texts.length + texts.length, segment.chars + chars)) return false;
  return Math.max(latestAt, segment.latestAt) - Math.min(earliestAt, segment.earliestAt) <= SEGMENT_SPAN_MAX_MS;
}

function extend(segment: Group, group: Group): void {
  for (const text of group.texts) segment.texts.push(text);
  segment.chars += group.chars;
  if (group.latestId > segment.latestId) segment.latestId = group.latestId;
  segment.earliestAt = Math.min(segment.earliestAt, group.earliestAt);
  segment.latestAt = Math.max(segment.latestAt, group.latestAt);
}
