import { DATABASE_NAMES, type DatabaseKind } from './installation.ts';
import { QUANTITIES, type Quantity, type Sample } from './sampling.ts';
import { median, type Point, robustLine } from './statistics.ts';

/** This much of the time is for caches to fill and code to be compiled; what grows then is not judged. */
const WARM_UP_SHARE = 1 / 3;

interface Threshold {
  quantity: Quantity;
  /** How much it may grow from the end of the warm-up to the end: this, or this share of its median, whichever is more. */
  absolute: number;
  share: number;
  /** PostgreSQL decides itself how much log it keeps, up to a gigabyte. */
  only?: DatabaseKind;
}

const THRESHOLDS: Threshold[] = [
  { quantity: 'rssMiB', absolute: 16, share: 0.05 },
  { quantity: 'handles', absolute: 2, share: 0 },
  { quantity: 'walMiB', absolute: 8, share: 0, only: 'sqlite' },
  { quantity: 'p99Ms', absolute: 2, share: 0.5 },
];

export interface Verdict {
  database: DatabaseKind;
  quantity: Quantity;
  /** By the fitted line. */
  growth: number;
  allowed: number;
  from: number;
  to: number;
  isGrowing: boolean;
}

function pointsOf(samples: readonly Sample[], quantity: Quantity): Point[] {
  return samples.flatMap((one) => (one[quantity] === null ? [] : [{ at: one.seconds, value: one[quantity] }]));
}

function afterWarmUp(samples: readonly Sample[]): Sample[] {
  const end = samples.at(-1)?.seconds ?? 0;
  return samples.filter(({ seconds }) => seconds >= end * WARM_UP_SHARE);
}

export function judge(database: DatabaseKind, samples: readonly Sample[]): Verdict[] {
  const judged = afterWarmUp(samples);
  return THRESHOLDS.filter(({ only }) => only === undefined || only === database).map(
    ({ quantity, absolute, share }) => {
      const points = pointsOf(judged, quantity);
      const [first, last] = [points[0], points.at(-1)];
      // Nothing seen is nothing shown: too few samples must not pass for steadiness.
      if (first === undefined || last === undefined || points.length < 3)
        throw new Error(`too few samples of ${quantity}`);
      const line = robustLine(points);
      const [from, to] = [line.at(first.at), line.at(last.at)];
      const allowed = Math.max(absolute, share * median(points.map(({ value }) => value)));
      return { database, quantity, growth: to - from, allowed, from, to, isGrowing: !(to - from <= allowed) };
    },
  );
}

export function shownVerdict({ database, quantity, growth, allowed, from, to, isGrowing }: Verdict): string {
  const text = (value: number) => value.toFixed(1);
  const change = `${text(from)} → ${text(to)}, grew by ${text(growth)} of ${text(allowed)} allowed`;
  return `${isGrowing ? 'GROWS ' : 'steady'}  ${DATABASE_NAMES[database]}, ${QUANTITIES[quantity]}: ${change}`;
}
