import { DAY_MS, HOUR_MS } from '../../../kernel/base/clock.ts';
import type { Reader } from '../../../kernel/storage/database.ts';
import { type CountCursor, type HourlyCount, hourlyCounts } from '../../rollups/index.ts';

export const HOURS_PER_DAY = 24;
/** What is usual is taken from this many days before the window. */
export const BASELINE_DAYS = 30;
/** With less history nothing is raised. */
export const HISTORY_DAYS_MIN = 7;
const ROWS_AT_ONCE = 2000;

/** The hours that a scan looks at: 30 days of history, then the window of the last 24 hours, which ends with the hour that has begun. */
export interface Period {
  from: number;
  windowFrom: number;
  to: number;
}

export function periodUntil(now: number): Period {
  const to = Math.floor(now / HOUR_MS) * HOUR_MS + HOUR_MS;
  const windowFrom = to - DAY_MS;
  return { from: windowFrom - BASELINE_DAYS * DAY_MS, windowFrom, to };
}

/** What happened to one resource, by hour and by day. Hours and days without any entry are zero. */
export interface ResourceHistory {
  resource: string;
  period: Period;
  reads: Float64Array;
  denied: Float64Array;
  actors: Float64Array;
  countries: Float64Array;
  /** On which days each actor read it: bit n for day n. An actor is its kind and id, as `actorKey` joins them. */
  readDays: Map<string, number>;
}

export function actorKey(kind: string, id: string): string {
  return `${kind} ${id}`;
}

export function emptyHistory(resource: string, period: Period): ResourceHistory {
  const hours = (period.to - period.from) / HOUR_MS;
  const days = hours / HOURS_PER_DAY;
  return {
    resource,
    period,
    reads: new Float64Array(hours),
    denied: new Float64Array(hours),
    actors: new Float64Array(days),
    countries: new Float64Array(days),
    readDays: new Map(),
  };
}

/** Adds up the counts of one resource, which come in the order of their hours. */
class HistoryBuilder {
  readonly history: ResourceHistory;
  readonly #actors = new Set<string>();
  readonly #countries = new Set<string>();
  #day = -1;

  constructor(resource: string, period: Period) {
    this.history = emptyHistory(resource, period);
  }

  add({ hour, reads, denied, actor_kind, actor_id, country }: HourlyCount): void {
    const { history } = this;
    const index = (hour - history.period.from) / HOUR_MS;
    const day = Math.floor(index / HOURS_PER_DAY);
    if (day !== this.#day) {
      this.#actors.clear();
      this.#countries.clear();
      this.#day = day;
    }
    history.reads[index] = (history.reads[index] ?? 0) + reads;
    history.denied[index] = (history.denied[index] ?? 0) + denied;
    const actor = actorKey(actor_kind, actor_id);
    history.actors[day] = this.#actors.add(actor).size;
    if (reads > 0) history.readDays.set(actor, (history.readDays.get(actor) ?? 0) | (1 << day));
    if (country !== '') history.countries[day] = this.#countries.add(country).size;
  }
}

/** Every resource whose name begins with the prefix, one after the other, so that memory does not depend on how many there are. */
export async function* historiesOf(
  db: Reader,
  tenantId: string,
  period: Period,
  prefix: string,
): AsyncGenerator<ResourceHistory> {
  // Names are ordered, so the first page begins right before the first name with the prefix.
  const start: CountCursor = { resource: prefix, hour_start: 0, actor_kind: '', actor_id: '', country: '' };
  let builder: HistoryBuilder | null = null;
  for await (const row of countsOf(db, tenantId, period, { after: start })) {
    if (!row.resource.startsWith(prefix)) break;
    if (builder?.history.resource !== row.resource) {
      if (builder !== null) yield builder.history;
      builder = new HistoryBuilder(row.resource, period);
    }
    builder.add(row);
  }
  if (builder !== null) yield builder.history;
}

export async function historyOf(
  db: Reader,
  tenantId: string,
  period: Period,
  resource: string,
): Promise<ResourceHistory> {
  const builder = new HistoryBuilder(resource, period);
  for await (const row of countsOf(db, tenantId, period, { resource })) builder.add(row);
  return builder.history;
}

/** Counts of the period, page by page. */
export async function* countsOf(
  db: Reader,
  tenantId: string,
  { from: fromHour, to: toHour }: Period,
  filter: { resource?: string; after?: CountCursor; rowsAtOnce?: number },
): AsyncGenerator<HourlyCount> {
  let { after } = filter;
  const { resource, rowsAtOnce = ROWS_AT_ONCE } = filter;
  for (;;) {
    const page = await hourlyCounts(db, tenantId, {
      fromHour,
      toHour,
      limit: rowsAtOnce,
      ...(resource !== undefined && { resource }),
      ...(after !== undefined && { after }),
    });
    yield* page.rows;
    if (page.next === null) return;
    after = page.next;
  }
}
