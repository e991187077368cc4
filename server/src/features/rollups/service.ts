import { DAY_MS, HOUR_MS, MINUTE_MS, timestamp } from '../../kernel/base/clock.ts';
import { invalidField } from '../../kernel/base/errors.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { findHead, type IsLookUp, parseTime, readBack } from '../audit/index.ts';
import type { readAuditActivity } from './contract.ts';
import { entriesAfter } from './counting.ts';
import {
  type Activity,
  ActivityCounts,
  type ActorActivity,
  activityOf,
  addActivity,
  type IsChange,
  NO_ACTIVITY,
  together,
} from './hourly-activity.ts';
import * as hourly from './hourly-activity-store.ts';
import { findProgress } from './store.ts';

type ActivityQuery = Query<typeof readAuditActivity>;

interface Filters {
  isChange: IsChange;
  isLookUp: IsLookUp;
}

const SPAN_MS = { hour: HOUR_MS, minute: MINUTE_MS };
const PERIOD_DEFAULT_MS = DAY_MS;
const SPANS_MAX = 1000;
/** Adding up more actors than those of a week would occupy the process. */
const ACTIVE_WITHIN_MS = 7 * DAY_MS;
const ACTIVE_MAX = 10;
/** So many counted actors are compared with the actors of entries that are not counted yet. */
const ACTIVE_COMPARED = 200;
/** Parts of the log that are not counted yet, and are read by a request. One has about 2,000 entries. */
const UNCOUNTED_PARTS_MAX = 4;
/** How often the counts are read again because entries were counted meanwhile. */
const READINGS_MAX = 3;

interface Period {
  from: number;
  to: number;
}

export async function readActivity(ctx: Context, query: ActivityQuery, filters: Filters) {
  const period = periodOf(ctx, query);
  const { span, from, to, cursor, entries: _, ...filter } = query;
  const isCounted = span !== 'minute' && Object.values(filter).every((value) => value === undefined);
  if (!isCounted) return scanned(ctx, query, period, filters);
  if (cursor !== undefined) throw invalidField('/query/cursor', 'must be the next_cursor of the previous page');
  return counted(ctx, period, filters);
}

function periodOf({ now }: Pick<Context, 'now'>, { span = 'hour', from, to }: ActivityQuery): Period {
  const length = SPAN_MS[span];
  const end = Math.ceil((to === undefined ? now + 1 : parseTime(to, '/query/to')) / length) * length;
  const begin = from === undefined ? end - PERIOD_DEFAULT_MS : parseTime(from, '/query/from');
  const period = { from: Math.floor(begin / length) * length, to: end };
  if (period.from >= period.to) throw invalidField('/query/from', 'must be before the end of the period');
  if (period.to - period.from > SPANS_MAX * length)
    throw invalidField('/query/from', `must be at most ${SPANS_MAX} spans before the end: choose longer spans`);
  return period;
}

/** From the counts of hours, and what was recorded since the last of them was counted. */
async function counted(ctx: Context, period: Period, { isChange }: Filters) {
  const { read } = ctx.database;
  for (let reading = 1; ; reading++) {
    const before = await findProgress(read, ctx.tenantId);
    const hours = await hourly.listActivity(read, ctx.tenantId, period);
    const active = { from: Math.max(period.from, period.to - ACTIVE_WITHIN_MS), to: period.to };
    const actors = await hourly.mostActive(read, ctx.tenantId, active, ACTIVE_COMPARED);
    const since = await hourly.oldestHour(read, ctx.tenantId);
    const recent = new ActivityCounts(isChange);
    const countedUntil = await addUncounted(ctx, Number(before?.cursor_seq ?? 0), recent);
    // What was counted between these queries would be in both, or in neither.
    const after = await findProgress(read, ctx.tenantId);
    if (before?.cursor_seq !== after?.cursor_seq && reading < READINGS_MAX) continue;
    const spans = new Map<number, Activity>();
    for (const { hour_start, reads, changes, other, denied, failed } of hours) {
      const of = { reads, changes, other, denied, failed };
      spans.set(Number(hour_start), addActivity(NO_ACTIVITY, numbersOf(of)));
    }
    for (const [hour, activity] of recent.byHour)
      if (isWithin(hour, period)) spans.set(hour, addActivity(spans.get(hour) ?? NO_ACTIVITY, activity));
    const recentActors = [...recent.actors.values()].filter(({ hour }) => isWithin(hour, active));
    const first = Math.min(since ?? Number.POSITIVE_INFINITY, ...recent.byHour.keys());
    return {
      ...periodText(period),
      spans: spansOf(spans),
      most_active: mostActiveOf([...actors, ...recentActors]),
      counted_since: Number.isFinite(first) ? timestamp(first) : null,
      counted_until: countedUntil === null ? null : timestamp(countedUntil),
      next_cursor: null,
    };
  }
}

/** PostgreSQL returns 64-bit integers as texts. */
function numbersOf({ reads, changes, other, denied, failed }: Activity): Activity {
  return {
    reads: Number(reads),
    changes: Number(changes),
    other: Number(other),
    denied: Number(denied),
    failed: Number(failed),
  };
}

/** Adds entries after the last that was counted. It returns the time from which on entries are missing, or null if none is. */
async function addUncounted(ctx: Context, after: number, to: ActivityCounts): Promise<number | null> {
  await ctx.kernel.audit.link();
  const { read } = ctx.database;
  const headSeq = Number((await findHead(read, ctx.tenantId))?.seq ?? 0);
  let cursor = after;
  for (let part = 1; ; part++) {
    const next = await entriesAfter(read, ctx.kernel.damagedSegments, ctx.tenantId, { after: cursor, headSeq });
    if (next === null) return null;
    if (part > UNCOUNTED_PARTS_MAX) return next.entries[0]?.at ?? null;
    for (const entry of next.entries) to.add(entry);
    cursor = next.lastSeq;
  }
}

/** Reads a part of the log. */
async function scanned(ctx: Context, query: ActivityQuery, period: Period, { isChange, isLookUp }: Filters) {
  const length = SPAN_MS[query.span ?? 'hour'];
  const spans = new Map<number, Activity>();
  const actors = new ActivityCounts(isChange);
  const { from, to } = periodText(period);
  let found = 0;
  const { next_cursor } = await readBack(ctx, { ...query, from, to }, isLookUp, {
    isFull: () => found === query.entries,
    add: (entry) => {
      found++;
      const start = Math.floor(entry.at / length) * length;
      spans.set(start, addActivity(spans.get(start) ?? NO_ACTIVITY, activityOf(entry, isChange)));
      actors.add(entry);
    },
  });
  const most_active = mostActiveOf([...actors.actors.values()]);
  return { from, to, spans: spansOf(spans), most_active, counted_since: null, counted_until: null, next_cursor };
}

function isWithin(time: number, { from, to }: Period): boolean {
  return time >= from && time < to;
}

function periodText({ from, to }: Period): { from: string; to: string } {
  return { from: timestamp(from), to: timestamp(to) };
}

function spansOf(spans: ReadonlyMap<number, Activity>) {
  return [...spans]
    .toSorted(([a], [b]) => a - b)
    .map(([start, activity]) => ({ start: timestamp(start), ...activity }));
}

function mostActiveOf(actors: readonly Omit<ActorActivity, 'hour'>[]) {
  const byActor = new Map<string, Omit<ActorActivity, 'hour'>>();
  for (const actor of actors) {
    const key = JSON.stringify([actor.actor_kind, actor.actor_id]);
    const same = byActor.get(key);
    byActor.set(key, same === undefined ? actor : together(same, actor));
  }
  const sum = ({ reads, changes, denied }: Omit<ActorActivity, 'hour'>) => reads + changes + denied;
  return [...byActor.values()]
    .toSorted((a, b) => sum(b) - sum(a) || (a.actor_id < b.actor_id ? -1 : 1))
    .slice(0, ACTIVE_MAX)
    .map(({ actor_kind: kind, actor_id: id, actor_name: name, reads, changes, denied }) => {
      return { kind, id, name, reads, changes, denied };
    });
}
