import type { Command } from 'commander';
import type { AuditFilter, Coffer, Schemas } from '../../client/src/index.ts';
import { bar, chooseScale, grouped, sparkline } from './drawing.ts';
import { dim, note, print, printJson, printTable } from './output.ts';
import { clientOf, settingsOf, wantsJson } from './settings.ts';

export type Span = 'hour' | 'day';
type Counts = Omit<Schemas['AuditSpan'], 'start'>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SPAN_MS = { hour: HOUR_MS, day: DAY_MS };
const DEFAULT_MS = { hour: DAY_MS, day: 30 * DAY_MS };
const SERIES = ['reads', 'changes', 'denied', 'failed'] as const;
const NOTHING: Counts = { reads: 0, changes: 0, other: 0, denied: 0, failed: 0 };
const SPARKLINE_WIDTH = 48;
const BAR_WIDTH = 24;

/** How much happened in each hour or day (of UTC), drawn at a terminal, and as a table elsewhere. */
export async function drawActivity(by: Span, filter: AuditFilter, command: Command): Promise<void> {
  const coffer = clientOf(settingsOf(command));
  const to = filter.to === undefined ? Date.now() : Date.parse(filter.to);
  const from = filter.from ?? new Date(to - DEFAULT_MS[by]).toISOString();
  const activity = await activityIn(coffer, { ...filter, from, to: new Date(to).toISOString() });
  const rows = rowsOf(activity, by);
  if (wantsJson(command)) return printJson(rows.map(({ start, counts }) => ({ start, ...counts })));
  if (!rows.some(({ counts }) => SERIES.some((name) => counts[name] > 0))) return note('No entry matches.');
  if (process.stdout.isTTY === true) drawSeries(rows);
  const scale = chooseScale(rows.map(total));
  const max = Math.max(...rows.map(total));
  printTable(
    rows,
    [
      { title: by === 'hour' ? 'HOUR (UTC)' : 'DAY (UTC)', of: ({ start }) => startText(start, by) },
      ...SERIES.map((name) => ({
        title: name.toUpperCase(),
        of: ({ counts }: Row) => grouped(counts[name]),
        isNumber: true,
      })),
      ...(process.stdout.isTTY === true
        ? [{ title: '', of: (row: Row) => bar(total(row), max, BAR_WIDTH, scale) }]
        : []),
    ],
    '',
  );
  if (process.stdout.isTTY === true && scale === 'root')
    note('A bar is as long as the square root of its number, so that the largest does not hide the others.');
  if (activity.countedUntil !== null) note(`Entries after ${activity.countedUntil} are not counted yet.`);
}

interface Row {
  /** As ISO 8601. */
  start: string;
  counts: Counts;
}

function total({ counts }: Row): number {
  return SERIES.reduce((sum, name) => sum + counts[name], 0);
}

function drawSeries(rows: readonly Row[]): void {
  for (const name of SERIES) {
    const counts = rows.map((row) => row.counts[name]);
    const sum = grouped(counts.reduce((all, count) => all + count, 0));
    const width = Math.max(8, Math.min(SPARKLINE_WIDTH, (process.stdout.columns || 80) - 24));
    print(`${name.padEnd(8)} ${sparkline(counts, width)} ${sum}`);
  }
  process.stdout.write(
    `${dim(`${startText(String(rows[0]?.start), 'hour')} to ${startText(String(rows.at(-1)?.start), 'hour')}`)}\n\n`,
  );
}

function startText(start: string, by: Span): string {
  return by === 'hour' ? start.slice(0, 16).replace('T', ' ') : start.slice(0, 10);
}

interface Activity {
  from: number;
  to: number;
  byHour: ReadonlyMap<number, Counts>;
  countedUntil: string | null;
}

/** The pages of a filtered count are parts of the same hours, so they are added up. */
async function activityIn(coffer: Coffer, query: AuditFilter): Promise<Activity> {
  const byHour = new Map<number, Counts>();
  let [from, to] = [0, 0];
  let countedUntil: string | null = null;
  for await (const page of coffer.pages('GET /v1/audit/activity', { query })) {
    [from, to, countedUntil] = [Date.parse(page.from), Date.parse(page.to), page.counted_until];
    for (const { start, ...counts } of page.spans) {
      const hour = Date.parse(start);
      byHour.set(hour, sum(byHour.get(hour) ?? NOTHING, counts));
    }
  }
  return { from, to, byHour, countedUntil };
}

/** Every span of the period, also those in which nothing happened. */
function rowsOf({ from, to, byHour }: Activity, by: Span): Row[] {
  const rows = new Map<number, Counts>();
  for (let hour = from; hour < to; hour += HOUR_MS) {
    const start = Math.floor(hour / SPAN_MS[by]) * SPAN_MS[by];
    rows.set(start, sum(rows.get(start) ?? NOTHING, byHour.get(hour) ?? NOTHING));
  }
  return [...rows].map(([start, counts]) => ({ start: new Date(start).toISOString(), counts }));
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
