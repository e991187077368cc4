import type { RouteOutput } from '@coffer/client';

type Counted = RouteOutput<'GET /v1/audit/activity'>['spans'][number];
export type SpanName = 'hour' | 'minute';

export interface Period {
  /** In milliseconds, at the beginning of a span. */
  from: number;
  to: number;
  span: SpanName;
}

export interface Bin {
  from: number;
  to: number;
  allowed: number;
  refused: number;
}

const SPAN_MS = { hour: 3_600_000, minute: 60_000 };
const DEFAULT_MS = 24 * SPAN_MS.hour;
/** So long at most minutes are counted, for which the service reads the log. */
const MINUTES_MS = 3 * SPAN_MS.hour;
const SPANS_MAX = 960;
const BINS_MAX = 96;

/** What is drawn for these filters: a day unless they name a time, and at most what the service counts at once. */
export function periodOf({ from, to }: { from?: string | undefined; to?: string | undefined }, now: number): Period {
  const end = to === undefined ? now + 1 : Date.parse(to);
  const begin = Math.min(from === undefined ? end - DEFAULT_MS : Date.parse(from), end - 1);
  const span = end - begin <= MINUTES_MS ? 'minute' : 'hour';
  const length = SPAN_MS[span];
  const last = Math.ceil(end / length) * length;
  return { from: Math.max(Math.floor(begin / length) * length, last - SPANS_MAX * length), to: last, span };
}

/** Neighbouring spans are drawn as one where there are many. What was only looked up counts if it is listed. */
export function binsOf({ from, to, span }: Period, counted: readonly Counted[], hasLookUps: boolean): Bin[] {
  const spans = (to - from) / SPAN_MS[span];
  const length = Math.ceil(spans / BINS_MAX) * SPAN_MS[span];
  const bins = Array.from({ length: Math.ceil((to - from) / length) }, (_, i): Bin => {
    return { from: from + i * length, to: Math.min(to, from + (i + 1) * length), allowed: 0, refused: 0 };
  });
  for (const { start, reads, changes, other, denied, failed } of counted) {
    const bin = bins[Math.floor((Date.parse(start) - from) / length)];
    if (bin === undefined) continue;
    bin.allowed += reads + changes + (hasLookUps ? other : 0);
    bin.refused += denied + failed;
  }
  return bins;
}
