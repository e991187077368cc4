import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { judge, sampleOf } from '../../server/src/features/anomalies/models/access-models.ts';
import {
  BASELINE_DAYS,
  emptyHistory,
  HISTORY_DAYS_MIN,
  periodUntil,
} from '../../server/src/features/anomalies/models/resource-history.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS_PER_WEEK = 7;

export const SERIES_TITLE = '## Series of others';
export const SERIES_MODELS = ['v1', 'v2', 'ensemble'] as const;
export type SeriesModel = (typeof SERIES_MODELS)[number];

/** A series that others measured, as counts by the hour, with the times that they call unusual. */
export interface Series {
  group: string;
  name: string;
  /** The start of a day. */
  from: number;
  counts: Float64Array;
  windows: { from: number; to: number }[];
}

export interface SeriesScore {
  windows: number;
  detected: number;
  /** Days in a row on which something was found count once, since an open anomaly is not raised anew; and those of them that reach into a stretch. */
  alarms: number;
  right: number;
  days: number;
}

const timeOf = (text: string) => Date.parse(`${text.replace(' ', 'T').slice(0, 19)}Z`);

/**
 * Reads a folder as the Numenta Anomaly Benchmark has it: `data/<group>/<name>.csv` with times and values, and the unusual times in
 * `labels/combined_windows.json`. Values of one hour are added up, so that each series is one of counts.
 */
export function readSeries(folder: string, groups: readonly string[]): Series[] {
  const labels = JSON.parse(readFileSync(join(folder, 'labels/combined_windows.json'), 'utf8')) as Record<
    string,
    [string, string][]
  >;
  return groups.flatMap((group) =>
    readdirSync(join(folder, 'data', group))
      .filter((file) => file.endsWith('.csv'))
      .map((file) => {
        const rows = readFileSync(join(folder, 'data', group, file), 'utf8')
          .trim()
          .split('\n')
          .slice(1);
        const points = rows.map((row) => {
          const [time = '', value = ''] = row.split(',');
          return { at: timeOf(time), value: Number(value) };
        });
        const from = Math.floor((points[0]?.at ?? 0) / DAY_MS) * DAY_MS;
        const counts = new Float64Array(Math.ceil(((points.at(-1)?.at ?? from) + 1 - from) / DAY_MS) * 24);
        for (const { at, value } of points) {
          const hour = Math.floor((at - from) / HOUR_MS);
          counts[hour] = (counts[hour] ?? 0) + Math.max(0, value);
        }
        const windows = (labels[`${group}/${file}`] ?? []).map(([start, end]) => ({
          from: timeOf(start),
          to: timeOf(end),
        }));
        return { group, name: file.replace(/\.csv$/, ''), from, counts: counts.map(Math.round), windows };
      }),
  );
}

/** Scans a series at the end of each day, as the service does. What was found unusual is left out of what follows. */
export function scoreSeries({ from, counts, windows }: Series, model: SeriesModel): SeriesScore {
  const unusual: { from: number; to: number }[] = [];
  const days = counts.length / 24;
  for (let day = HISTORY_DAYS_MIN; day < days; day++) {
    const period = periodUntil(from + (day + 1) * DAY_MS - 1);
    const history = emptyHistory('series', period);
    const skipped = (period.from - from) / HOUR_MS;
    for (let hour = 0; hour < history.reads.length; hour++) history.reads[hour] = counts[hour + skipped] ?? 0;
    const verdict = judge(model, sampleOf(history, from, unusual), undefined);
    if (verdict?.isUnusual === true) unusual.push({ from: period.windowFrom, to: period.to });
  }
  const alarms: { from: number; to: number }[] = [];
  for (const { from: start, to } of unusual) {
    const last = alarms.at(-1);
    if (last?.to === start) last.to = to;
    else alarms.push({ from: start, to });
  }
  const overlaps = (a: { from: number; to: number }, b: { from: number; to: number }) => a.from < b.to && b.from < a.to;
  const judged = { from: from + HISTORY_DAYS_MIN * DAY_MS, to: from + days * DAY_MS };
  const wanted = windows.filter((window) => overlaps(window, judged));
  return {
    windows: wanted.length,
    detected: wanted.filter((window) => unusual.some((alarm) => overlaps(window, alarm))).length,
    alarms: alarms.length,
    right: alarms.filter((alarm) => windows.some((window) => overlaps(window, alarm))).length,
    days: days - HISTORY_DAYS_MIN,
  };
}

export interface SeriesEvaluation {
  group: string;
  series: number;
  scores: Record<SeriesModel, SeriesScore>;
}

export function evaluateSeries(all: readonly Series[]): SeriesEvaluation[] {
  return [...Map.groupBy(all, ({ group }) => group)].map(([group, series]) => {
    const total = (model: SeriesModel) => series.map((one) => scoreSeries(one, model)).reduce(added);
    return { group, series: series.length, scores: { v1: total('v1'), v2: total('v2'), ensemble: total('ensemble') } };
  });
}

function totalOf(evaluations: readonly SeriesEvaluation[]): SeriesEvaluation {
  const total = (model: SeriesModel) => evaluations.map(({ scores }) => scores[model]).reduce(added);
  const scores = { v1: total('v1'), v2: total('v2'), ensemble: total('ensemble') };
  return { group: 'all', series: evaluations.reduce((sum, { series }) => sum + series, 0), scores };
}

function added(a: SeriesScore, b: SeriesScore): SeriesScore {
  return {
    windows: a.windows + b.windows,
    detected: a.detected + b.detected,
    alarms: a.alarms + b.alarms,
    right: a.right + b.right,
    days: a.days + b.days,
  };
}

/** The tables of a page, with what they mean. */
export function seriesText(evaluations: readonly SeriesEvaluation[]): string {
  if (evaluations.length === 0) return '';
  const row = ({ group, series, scores }: SeriesEvaluation) =>
    SERIES_MODELS.map((model) => {
      const { windows, detected, alarms, right, days } = scores[model];
      const precision = alarms === 0 ? '–' : (right / alarms).toFixed(2);
      const wrong = (((alarms - right) / days) * DAYS_PER_WEEK).toFixed(2);
      return `| ${group}, ${series} series | ${model} | ${(detected / Math.max(1, windows)).toFixed(2)} (${detected} of ${windows}) | ${precision} (${right} of ${alarms}) | ${wrong} |`;
    }).join('\n');
  return `
${SERIES_TITLE}

The same models on series that nobody here made: those of the Numenta Anomaly Benchmark, as counts by the hour, scanned at the end of each day with up to ${BASELINE_DAYS} days before it. None of them is in this repository. Their makers call stretches of time unusual, also some in which there is less than usual, which no model of the service looks for, and much that is not in the number of an hour.

- A stretch is **detected** if the scan of a day in it finds something. Days in a row on which something is found are one finding, as an open anomaly is not raised anew. **Precision** is the part of the findings that reach into such a stretch.
- The models were not tuned on them.

| Series | Model | Recall | Precision | Wrong findings a week and series |
|---|---|---|---|---|
${[...evaluations, totalOf(evaluations)].map(row).join('\n')}
`;
}
