import { HOUR_MS } from '../../../kernel/base/clock.ts';
import { IsolationForest } from './isolation-forest.ts';
import { HISTORY_DAYS_MIN, HOURS_PER_DAY, type ResourceHistory } from './resource-history.ts';
import { seededRandom } from './seeded-random.ts';
import { median, quantile, robustZ, spreadOf, zOf } from './statistics.ts';

export type ModelMode = 'v1' | 'shadow' | 'v2' | 'ensemble';

/** v1: fewer reads in an hour are never unusual, however quiet the secret was. */
const READS_FLOOR = 20;
export const FACTOR_DEFAULT = 3;
/** v2: the usual limit of a robust z. */
export const Z_DEFAULT = 3.5;
/** v2: deviations of fewer reads than this are noise. A deployment alone makes tens of reads. */
const SPREAD_FLOOR = { hour: 6, day: 30 };
/** v2: an excess that is not far above every excess in the history is not unusual, however rare those were. */
const PAST_FACTOR = 1.5;
const SAME_HOUR_MIN = 3;
/** Forest: above it a day is alone among the others. */
export const FOREST_SCORE = 0.6;
export const FOREST_SEED = 1;
const HOURS_PER_WEEK = 7 * HOURS_PER_DAY;
const HOURS_MIN = HISTORY_DAYS_MIN * HOURS_PER_DAY;
const P95 = 0.95;

/** The history of a resource, without what must not become part of the baseline. */
export interface Sample {
  history: ResourceHistory;
  /** The index of an hour of the history before the window, from when on the resource existed, that was not found unusual. */
  baselineHours: readonly number[];
}

export interface Votes {
  v1: boolean;
  v2: boolean;
  /** Null if it could not change the outcome. */
  forest: boolean | null;
}

export interface Verdict {
  isUnusual: boolean;
  /** How far past the threshold, by the model that decides. */
  ratio: number;
  votes: Votes;
  /** The start of the hour with the most reads in the window. */
  hour: number;
  readsPerHour: number;
  readsPerDay: number;
  readsPerHourP95: number;
}

/** What the baseline may be made of. `since` is when the resource, or the log, began; `unusual` are hours that were found unusual. */
export function sampleOf(
  history: ResourceHistory,
  since: number,
  unusual: readonly { from: number; to: number }[],
): Sample {
  const { from, windowFrom } = history.period;
  const baselineHours: number[] = [];
  for (let hour = Math.max(from, Math.ceil(since / HOUR_MS) * HOUR_MS); hour < windowFrom; hour += HOUR_MS) {
    if (!unusual.some((part) => hour >= part.from && hour < part.to)) baselineHours.push((hour - from) / HOUR_MS);
  }
  return { history, baselineHours };
}

/** Null if there is too little history to say anything. */
export function judge(mode: ModelMode, sample: Sample, threshold: number | undefined): Verdict | null {
  const { history, baselineHours } = sample;
  if (baselineHours.length < HOURS_MIN) return null;
  const windowStart = (history.period.windowFrom - history.period.from) / HOUR_MS;
  const inWindow = history.reads.subarray(windowStart);
  const [worst, readsPerHour] = highest(inWindow);
  const facts = {
    hour: history.period.windowFrom + worst * HOUR_MS,
    readsPerHour,
    readsPerDay: sum(inWindow),
    readsPerHourP95: quantile(readsIn(sample), P95),
  };
  const v1 = readsPerHour / Math.max(facts.readsPerHourP95 * (threshold ?? FACTOR_DEFAULT), READS_FLOOR);
  if (mode === 'v1') return verdict(facts, { v1: v1 > 1, v2: false, forest: null }, v1 > 1, v1);
  const v2 = seasonalZ(sample, windowStart) / (threshold ?? Z_DEFAULT);
  const votes: Votes = { v1: v1 > 1, v2: v2 > 1, forest: null };
  if (mode === 'v2') return verdict(facts, votes, votes.v2, v2);
  if (mode === 'shadow') return verdict(facts, votes, votes.v1, v1);
  // Only where the other two differ does the forest decide.
  if (votes.v1 !== votes.v2) votes.forest = isAlone(sample);
  const isUnusual = votes.forest ?? votes.v1;
  return verdict(facts, votes, isUnusual, Math.max(v1, v2));
}

function verdict(
  facts: Omit<Verdict, 'votes' | 'isUnusual' | 'ratio'>,
  votes: Votes,
  isUnusual: boolean,
  ratio: number,
): Verdict {
  return { ...facts, votes, isUnusual, ratio };
}

function readsIn({ history, baselineHours }: Sample): number[] {
  return baselineHours.map((hour) => history.reads[hour] ?? 0);
}

/** How far the hours of the window, and the window as a whole, are above what is usual at that time of the week. */
function seasonalZ(sample: Sample, windowStart: number): number {
  const { history } = sample;
  const usual = seasonalMedians(sample);
  const { residuals, highestBefore } = excessesOf(sample, usual);
  let worst = 0;
  for (let hour = windowStart; hour < history.reads.length; hour++) {
    const expected = usual(hour);
    if ((history.reads[hour] ?? 0) - expected <= PAST_FACTOR * highestBefore) continue;
    worst = Math.max(worst, zOf((history.reads[hour] ?? 0) - expected, residuals, floorOf(expected)));
  }
  const days = wholeDays(sample);
  if (days.length < HISTORY_DAYS_MIN) return worst;
  const totals = days.map((day) => sum(readsOfDay(history, day)));
  const total = sum(history.reads.subarray(windowStart));
  if (total <= PAST_FACTOR * totals.reduce((most, one) => Math.max(most, one), 0)) return worst;
  return Math.max(worst, robustZ(total, totals, Math.max(SPREAD_FLOOR.day, Math.sqrt(median(totals)))));
}

/** How far the reads of the history were above what is usual at their hour. */
function excessesOf({ history, baselineHours }: Sample, usual: (hour: number) => number) {
  const excesses = baselineHours.map((hour) => (history.reads[hour] ?? 0) - usual(hour));
  return { residuals: spreadOf(excesses), highestBefore: excesses.reduce((most, excess) => Math.max(most, excess), 0) };
}

/** The number of reads of an hour varies at least by the square root of what is expected. */
function floorOf(expected: number): number {
  return Math.max(SPREAD_FLOOR.hour, Math.sqrt(expected));
}

/** What v2 holds an hour against, for each hour of the week, counted from the first hour of the history. */
export interface WeekHours {
  usual: number[];
  /** More reads than this are unusual, with the default threshold. */
  limit: number[];
  /** Whether there is enough history to judge by. */
  isJudged: boolean;
}

export function weekHours(sample: Sample): WeekHours {
  const medianAt = seasonalMedians(sample);
  const { residuals, highestBefore } = excessesOf(sample, medianAt);
  const usual = Array.from({ length: HOURS_PER_WEEK }, (_, hour) => medianAt(hour));
  const limit = usual.map((expected) => {
    const far = residuals.middle + Z_DEFAULT * Math.max(residuals.spread, floorOf(expected));
    return expected + Math.max(PAST_FACTOR * highestBefore, far);
  });
  return { usual, limit, isJudged: sample.baselineHours.length >= HOURS_MIN };
}

/** The median at the same hour of the week, or at the same hour of the day while there are few such weeks. */
function seasonalMedians(sample: Sample): (hour: number) => number {
  const ofWeek = readsByPhase(sample, HOURS_PER_WEEK);
  const ofDay = readsByPhase(sample, HOURS_PER_DAY).map(medianOrNothing);
  const usual = ofWeek.map((reads, hour) =>
    reads.length >= SAME_HOUR_MIN ? median(reads) : (ofDay[hour % HOURS_PER_DAY] ?? 0),
  );
  return (hour) => usual[hour % HOURS_PER_WEEK] ?? 0;
}

function medianOrNothing(reads: readonly number[]): number {
  return reads.length === 0 ? 0 : median(reads);
}

/** The reads of the hours that are a multiple of the length apart. */
function readsByPhase({ history, baselineHours }: Sample, length: number): number[][] {
  const phases = Array.from({ length }, (): number[] => []);
  for (const hour of baselineHours) phases[hour % length]?.push(history.reads[hour] ?? 0);
  return phases;
}

/** Whether the day of the window is alone among the days before, in a forest that is the same for the same history. */
function isAlone(sample: Sample): boolean {
  const { history } = sample;
  const days = wholeDays(sample);
  const last = history.actors.length - 1;
  if (days.length < HISTORY_DAYS_MIN) return false;
  // The day itself is among the points: days that are all alike have no place for a split.
  const points = [...days, last].map((day) => featuresOf(history, day));
  const forest = new IsolationForest(points, seededRandom(FOREST_SEED));
  const isMore = sum(readsOfDay(history, last)) > median(days.map((day) => sum(readsOfDay(history, day))));
  return isMore && forest.score(featuresOf(history, last)) > FOREST_SCORE;
}

/** Days of the history all of whose hours are part of the baseline. */
export function wholeDays({ history, baselineHours }: Sample): number[] {
  const hours = new Map<number, number>();
  for (const hour of baselineHours) {
    const day = Math.floor(hour / HOURS_PER_DAY);
    hours.set(day, (hours.get(day) ?? 0) + 1);
  }
  const days = history.actors.length - 1;
  return [...hours].filter(([day, count]) => day < days && count === HOURS_PER_DAY).map(([day]) => day);
}

function featuresOf(history: ResourceHistory, day: number): number[] {
  const reads = readsOfDay(history, day);
  const denied = history.denied.subarray(day * HOURS_PER_DAY, (day + 1) * HOURS_PER_DAY);
  return [
    Math.log2(1 + sum(reads)),
    Math.log2(1 + highest(reads)[1]),
    reads.filter((count) => count > 0).length,
    history.actors[day] ?? 0,
    history.countries[day] ?? 0,
    Math.log2(1 + sum(denied)),
  ];
}

function readsOfDay({ reads }: ResourceHistory, day: number): Float64Array {
  return reads.subarray(day * HOURS_PER_DAY, (day + 1) * HOURS_PER_DAY);
}

function highest(values: Float64Array): [index: number, value: number] {
  let best = 0;
  for (let i = 1; i < values.length; i++) if ((values[i] ?? 0) > (values[best] ?? 0)) best = i;
  return [best, values[best] ?? 0];
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}
