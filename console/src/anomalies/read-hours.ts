import type { RouteOutput } from '@coffer/client';

export type ResourceHours = RouteOutput<'GET /anomalies/baselines'>['hours'];

const HOUR_MS = 3_600_000;
const HOURS_PER_WEEK = 168;
const DAY_HOURS = 24;
/** Between these shares of all days lies what is usual. */
const USUAL = { from: 0.1, to: 0.9 };

/** One hour or day, as it is drawn. */
export interface Part {
  from: number;
  to: number;
  reads: number;
  denied: number;
  isUnusual: boolean;
  usual: { from: number; to: number };
}

/** The last hours, each beside what is usual and what would be unusual at it. */
export function lastHours(hours: ResourceHours, count: number): Part[] {
  const begin = Math.max(0, hours.reads.length - count);
  return hours.reads.slice(begin).map((reads, i): Part => {
    const index = begin + i;
    const from = Date.parse(hours.from) + index * HOUR_MS;
    const limit = hours.limit[index % HOURS_PER_WEEK] ?? 0;
    return {
      from,
      to: from + HOUR_MS,
      reads,
      denied: hours.denied[index] ?? 0,
      isUnusual: hours.judged && reads > limit,
      usual: { from: hours.usual[index % HOURS_PER_WEEK] ?? 0, to: limit },
    };
  });
}

/** The days of this time zone, from the first whole one on. */
export function daysOf(hours: ResourceHours): Part[] {
  const byDay = Map.groupBy(lastHours(hours, hours.reads.length), ({ from }) => new Date(from).toDateString());
  const days = [...byDay.values()];
  const whole = (days[0]?.length ?? 0) < DAY_HOURS ? days.slice(1) : days;
  const sums = whole.map((parts) => ({
    from: parts[0]?.from ?? 0,
    to: parts.at(-1)?.to ?? 0,
    reads: parts.reduce((sum, { reads }) => sum + reads, 0),
    denied: parts.reduce((sum, { denied }) => sum + denied, 0),
    isUnusual: parts.some(({ isUnusual }) => isUnusual) || parts.some((part) => isAbout(hours, part)),
  }));
  const calm = sums.filter(({ isUnusual }) => !isUnusual).map(({ reads }) => reads);
  const usual = { from: quantile(calm, USUAL.from), to: quantile(calm, USUAL.to) };
  return sums.map((day) => ({ ...day, usual }));
}

/** Whether an anomaly that is open is about this time. */
function isAbout(
  { unusual, from: begin, reads, limit }: ResourceHours,
  part: Pick<Part, 'from' | 'to' | 'reads'>,
): boolean {
  const index = Math.round((part.from - Date.parse(begin)) / HOUR_MS);
  const isRead = (reads[index] ?? 0) > (limit[index % HOURS_PER_WEEK] ?? 0) / 2;
  return isRead && unusual.some(({ from, to }) => part.from < Date.parse(to) && part.to > Date.parse(from));
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** What is usual at each hour of each weekday of this time zone, Monday first. */
export function weekOf({ from, usual }: Pick<ResourceHours, 'from' | 'usual'>): number[][] {
  const week = Array.from({ length: 7 }, () => Array.from({ length: DAY_HOURS }, () => 0));
  for (const [index, reads] of usual.entries()) {
    const at = new Date(Date.parse(from) + index * HOUR_MS);
    const day = week[(at.getDay() + 6) % 7];
    if (day !== undefined) day[at.getHours()] = reads;
  }
  return week;
}
