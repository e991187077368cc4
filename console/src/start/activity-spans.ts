import type { RouteOutput } from '@coffer/client';

type Answer = RouteOutput<'GET /v1/audit/activity'>;
export type Counts = Omit<Answer['spans'][number], 'start'>;

export interface Span {
  from: Date;
  to: Date;
  counts: Counts;
}

export const PERIODS = ['day', 'week', 'month'] as const;
export type Period = (typeof PERIODS)[number];

const HOUR_MS = 3_600_000;
const NOTHING: Counts = { reads: 0, changes: 0, other: 0, denied: 0, failed: 0 };
const HOURS: Readonly<Record<Period, number>> = { day: 24, week: 7 * 24, month: 30 * 24 };
/** Hours that are one point of the plot. */
const HOURS_AT_ONCE: Readonly<Record<Period, number>> = { day: 1, week: 4, month: 24 };

/** The period up to now, or with `before` the one before it, with which it is compared. */
export function queryOf(period: Period, now: number, before = 0): { from: string; to: string } {
  const length = HOURS[period] * HOUR_MS;
  const end = Math.ceil((now + 1) / HOUR_MS) * HOUR_MS - before * length;
  return { from: new Date(end - length).toISOString(), to: new Date(end).toISOString() };
}

/** Every span of the period, also those in which nothing happened. */
export function spansOf({ spans, to }: Pick<Answer, 'spans' | 'to'>, period: Period): Span[] {
  const byHour = countsByHour(spans);
  const end = Date.parse(to);
  const length = HOURS_AT_ONCE[period] * HOUR_MS;
  return Array.from({ length: HOURS[period] / HOURS_AT_ONCE[period] }, (_, i): Span => {
    const from = end - HOURS[period] * HOUR_MS + i * length;
    let counts = NOTHING;
    for (let hour = from; hour < from + length; hour += HOUR_MS) counts = sum(counts, byHour.get(hour) ?? NOTHING);
    return { from: new Date(from), to: new Date(from + length), counts };
  });
}

/** All of a period; null if it was not counted from its beginning. */
export function totalsOf({ from, counted_since, spans }: Answer): Counts | null {
  const isCounted = counted_since !== null && Date.parse(counted_since) <= Date.parse(from);
  return isCounted ? spans.reduce<Counts>(sum, NOTHING) : null;
}

function countsByHour(spans: Answer['spans']): ReadonlyMap<number, Counts> {
  return new Map(spans.map(({ start, ...counts }) => [Date.parse(start), counts]));
}

function sum(a: Counts, b: Counts): Counts {
  return {
    reads: a.reads + b.reads,
    changes: a.changes + b.changes,
    other: a.other + b.other,
    denied: a.denied + b.denied,
    failed: a.failed + b.failed,
  };
}

/** The largest of the counts if it stands out, so that a sentence may name it. */
export function peakOf(counts: readonly number[]): number | null {
  const max = Math.max(0, ...counts);
  const mean = counts.reduce((all, count) => all + count, 0) / Math.max(1, counts.length);
  return max >= 5 && max > mean * 4 ? max : null;
}
