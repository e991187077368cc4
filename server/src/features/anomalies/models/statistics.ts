/** Empty lists have no statistics, so callers check for that first. */

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The smallest value that at least this share of all values does not exceed (nearest rank). */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The constants make both deviations comparable with a standard deviation of normal data. */
const MAD_SCALE = 0.6745;
const MEAN_AD_SCALE = 0.7979;

/**
 * How far a value is from the median, in robust deviations. Most values of a quiet secret are equal, so that the median deviation is 0: then the mean
 * deviation is used, and never less than `floor`, or the first read in weeks would be infinitely far away.
 */
export function robustZ(value: number, history: readonly number[], floor: number): number {
  return zOf(value, spreadOf(history), floor);
}

export interface Spread {
  middle: number;
  spread: number;
}

/** For comparing many values with the same history. */
export function spreadOf(history: readonly number[]): Spread {
  const middle = median(history);
  const deviations = history.map((one) => Math.abs(one - middle));
  const mad = median(deviations);
  return { middle, spread: mad > 0 ? mad / MAD_SCALE : mean(deviations) / MEAN_AD_SCALE };
}

export function zOf(value: number, { middle, spread }: Spread, floor: number): number {
  return (value - middle) / Math.max(spread, floor);
}
