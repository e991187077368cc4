import { countOf, type ReadSegment } from '../../kernel/audit/chain/damaged-segments.ts';
import type { StoredEntry } from '../../kernel/audit/chain/segment.ts';
import { isSignedByNode } from '../../kernel/audit/postgres/node-segments.ts';
import { HOUR_MS, MINUTE_MS, timestamp } from '../../kernel/base/clock.ts';
import { invalidField } from '../../kernel/base/errors.ts';
import { idAtTime, idForm, timeOfId } from '../../kernel/base/ids.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import { TimeSlice } from '../../kernel/fairness/time-slice.ts';
import { recheck } from '../../kernel/request/acceptance.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { AuditSegmentsTable } from '../../kernel/storage/tables.ts';
import { decodeCursor, encodeCursor } from '../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { newestPruned } from './archive/archive-store.ts';
import type { AuditRecord, listAudit } from './contract.ts';
import * as store from './store.ts';

/** Maximum entries that one request may scan. */
const SCAN_MAX = 20_000;
/** The first batch is short, because most requests want a few entries and a segment may hold hundreds. */
const SEGMENTS_PER_LOOK = { first: 8, most: 64 };
/** Ranges of entries that cannot be read, on one page. */
const UNREADABLE_MAX = 100;
/** A segment is written at most this long after the time of its entries, which is longer than any request takes. */
const WRITTEN_WITHIN_MS = MINUTE_MS;

/** Where a page ended: the segment, and how many of its entries were scanned, counted from its end. */
interface Position {
  segment: string;
  shown: number;
  /** The sequence number of the last scanned entry, or one more than that of the next; null if the segment is not linked. */
  seq: number | null;
}

/** What is listed of a segment that no node wrote. */
const NOTHING: ReadSegment = { entries: [], isDamaged: false };

const SHOWN_FORM = /^(?:0|[1-9]\d{0,8})(?:\.[1-9]\d{0,15})?$/;

/** Which entries are read, and from where on. */
export type AuditPeriod = Pick<Query<typeof listAudit>, 'cursor' | 'from' | 'to' | 'request_id' | 'look_ups'> &
  AuditFilter;

/** What is done with entries that match. */
interface Visit {
  /** Nothing more is read, and the next page begins here. */
  isFull(): boolean;
  add(entry: StoredEntry): void;
}

export type IsLookUp = (entry: Pick<StoredEntry, 'action' | 'decision'>) => boolean;

export async function list(ctx: Context, query: Query<typeof listAudit>, isLookUp: IsLookUp) {
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const found: StoredEntry[] = [];
  const visit = { isFull: () => found.length === limit, add: (entry: StoredEntry) => void found.push(entry) };
  const end = await readBack(ctx, query, isLookUp, visit);
  return { entries: found.map(auditRecordOf), ...end };
}

/** Reads the entries of a period, newest first, and a bounded number for each request. */
export async function readBack(ctx: Context, query: AuditPeriod, isLookUp: IsLookUp, visit: Visit): Promise<End> {
  const isHidden = (entry: StoredEntry) => query.look_ups === 'exclude' && isLookUp(entry);
  const { from, to } = periodOf(query);
  let position = positionOf(query.cursor);

  // Linking first refuses segments that no node wrote, so that they are not listed.
  await ctx.kernel.audit.link();
  const unreadable = new Map<string, Range>();
  const { damagedSegments } = ctx.kernel;
  const slice = TimeSlice.of(ctx.tenantId);
  let looked = 0;
  for (let wanted = SEGMENTS_PER_LOOK.first; ; wanted = Math.min(wanted * 2, SEGMENTS_PER_LOOK.most)) {
    position = position && (await afterCompaction(ctx, position));
    const newest = position?.segment ?? (to === null ? null : await segmentAt(ctx, to + WRITTEN_WITHIN_MS));
    const { segments, isLast } = await store.segmentsBack(ctx.database.read, ctx.tenantId, newest, wanted);
    for (const segment of segments) {
      await slice.pause();
      // A segment's id is as late as its latest entry, so all further segments are older still.
      if (from !== null && segment.id < idAtTime('audit', from)) return lastEnd(ctx, unreadable, from);
      // An unlinked segment is listed if a node wrote it. Linking, which refuses other segments, may be waiting for a lock.
      const isGenuine = segment.first_seq !== null || (await isSignedByNode(ctx.kernel.keyring, segment));
      const read = isGenuine ? damagedSegments.read(segment) : NOTHING;
      if (read.isDamaged) unreadable.set(segment.id, rangeOf(segment));
      const newestFirst = read.entries.toReversed();
      let shown = position?.segment === segment.id ? position.shown : 0;
      const place = (): Position => ({
        segment: segment.id,
        shown,
        seq: seqAfter(segment, newestFirst.length - shown),
      });
      for (const entry of newestFirst.slice(shown)) {
        if (visit.isFull() || looked === SCAN_MAX) return endAt(unreadable, place());
        shown++;
        looked++;
        const pause = slice.pause();
        if (pause !== undefined) await pause;
        if (entry === null || !isWithin(entry.at, from, to) || isHidden(entry)) continue;
        if (isOfRequest(entry, query) && isWanted(entry, query)) visit.add(entry);
      }
      position = place();
    }
    if (isLast || position === null) return lastEnd(ctx, unreadable, from);
    await recheck(ctx);
  }
}

function positionOf(cursor: string | undefined): Position | null {
  const start = decodeCursor(cursor, idForm('audit'), SHOWN_FORM);
  if (start === null) return null;
  const [shown, seq] = String(start[1]).split('.');
  return { segment: String(start[0]), shown: Number(shown), seq: seq === undefined ? null : Number(seq) };
}

/** The sequence number after the first `count` entries of a segment. */
function seqAfter({ first_seq }: AuditSegmentsTable, count: number): number | null {
  return first_seq === null ? null : first_seq + count;
}

/**
 * The segment at which a page ended may have been merged since. Segments are merged only if none is between them, so it is then part of the oldest
 * one that is newer.
 */
async function afterCompaction(ctx: Context, position: Position): Promise<Position> {
  const segment = await store.segmentAtOrAfter(ctx.database.read, ctx.tenantId, position.segment);
  if (segment === undefined || segment.id === position.segment || segment.first_seq === null) return position;
  const entries = ctx.kernel.damagedSegments.entriesIn(segment);
  const ofLatest = entries.findIndex((entry) => entry?.id === position.segment);
  const next = position.seq === null ? ofLatest + 1 - position.shown : position.seq - segment.first_seq;
  if (next <= 0 || next > entries.length) return position;
  return { segment: segment.id, shown: entries.length - next, seq: segment.first_seq + next };
}

/** The id of the segment that may contain the latest entries before a time, and of none that is older. */
async function segmentAt(ctx: Context, time: number): Promise<string> {
  const id = idAtTime('audit', time);
  return (await store.segmentAtOrAfter(ctx.database.read, ctx.tenantId, id))?.id ?? id;
}

/** The id of a request says when it was made, so that its entries are found without reading all that came later. */
function periodOf({ from, to, request_id }: AuditPeriod): { from: number | null; to: number | null } {
  const period = {
    from: from === undefined ? null : parseTime(from, '/query/from'),
    to: to === undefined ? null : parseTime(to, '/query/to'),
  };
  if (request_id === undefined) return period;
  const madeAt = timeOfId(request_id);
  return {
    from: Math.max(period.from ?? 0, madeAt - MINUTE_MS),
    to: Math.min(period.to ?? Number.POSITIVE_INFINITY, madeAt + HOUR_MS),
  };
}

function isOfRequest({ request_id }: StoredEntry, query: AuditPeriod): boolean {
  return query.request_id === undefined || request_id === query.request_id;
}

/** Entries that were moved to the archive are not listed, and the last page says so. */
async function lastEnd(ctx: Context, unreadable: ReadonlyMap<string, Range>, from: number | null): Promise<End> {
  const pruned = await newestPruned(ctx.database.read, ctx.tenantId);
  const isWanted = pruned !== undefined && (from === null || pruned.last_at >= from);
  return endAt(unreadable, null, isWanted ? timestamp(pruned.last_at) : null);
}

interface Range {
  first_seq: number;
  last_seq: number;
}

/** Where reading ended, and what could not be read on the way. */
export interface End {
  next_cursor: string | null;
  unreadable: Range[];
  archived_until: string | null;
}

function rangeOf(segment: AuditSegmentsTable): Range {
  const first_seq = Number(segment.first_seq);
  return { first_seq, last_seq: first_seq + Math.max(countOf(segment), 1) - 1 };
}

function endAt(
  unreadable: ReadonlyMap<string, Range>,
  end: Position | null,
  archived_until: string | null = null,
): End {
  return {
    next_cursor: end === null ? null : encodeCursor([end.segment, [end.shown, end.seq ?? []].flat().join('.')]),
    unreadable: [...unreadable.values()].slice(0, UNREADABLE_MAX),
    archived_until,
  };
}

/** The filters that do not name a time. */
export type AuditFilter = Pick<Query<typeof listAudit>, 'vault' | 'actor' | 'action' | 'resource' | 'decision'>;

export function isWanted(e: StoredEntry, { vault, actor, action, resource, decision }: AuditFilter): boolean {
  if (vault !== undefined && !isNamedBy(vault, e.vault)) return false;
  if (action !== undefined && !isNamedBy(action, e.action)) return false;
  if (decision !== undefined && e.decision !== decision) return false;
  if (actor !== undefined && ![e.actor_id, e.actor_name, e.actor_key].some((name) => isNamedBy(actor, name)))
    return false;
  return resource === undefined || isNamedBy(resource, e.resource);
}

function isWithin(at: number, from: number | null, to: number | null): boolean {
  return (from === null || at >= from) && (to === null || at < to);
}

/** A filter matches exactly, or by prefix if it ends in `*`. */
function isNamedBy(filter: string, text: string): boolean {
  return filter.endsWith('*') ? text.startsWith(filter.slice(0, -1)) : text === filter;
}

export function parseTime(text: string, pointer: string): number {
  const time = Date.parse(text);
  if (!Number.isFinite(time)) throw invalidField(pointer, 'must be a time such as 2026-11-14T10:00:00.000Z');
  return time;
}

export function auditRecordOf(e: StoredEntry): AuditRecord {
  return {
    id: e.id,
    timestamp: timestamp(e.at),
    actor: { kind: e.actor_kind, id: e.actor_id, name: e.actor_name, key: e.actor_key },
    action: e.action,
    resource: e.resource,
    vault: e.vault === '' ? null : e.vault,
    decision: e.decision,
    status: e.status,
    ip: e.ip,
    user_agent: e.user_agent,
    request_id: e.request_id,
    reason: e.reason === '' ? null : e.reason,
    details: e.details === '' ? {} : (JSON.parse(e.details) as Record<string, unknown>),
    ...(e.rows && { rows: e.rows.map(([table, row, digest, before]) => ({ table, row, digest, before })) }),
    seq: e.seq,
    hash: e.hash === null ? null : Buffer.from(e.hash).toString('hex'),
  };
}
