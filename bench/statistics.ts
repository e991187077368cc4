/** Of sorted values: the least that this share of them does not exceed. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

export interface Point {
  at: number;
  value: number;
}

/**
 * The line through points that a few wild ones cannot bend (Theil and Sen): the median of the slopes between all pairs, and the line of
 * that slope with as many points above as below.
 */
export function robustLine(points: readonly Point[]): { slope: number; at(x: number): number } {
  const slopes: number[] = [];
  for (const [i, a] of points.entries()) {
    for (const b of points.slice(i + 1)) if (b.at !== a.at) slopes.push((b.value - a.value) / (b.at - a.at));
  }
  const slope = median(slopes);
  const base = median(points.map(({ at, value }) => value - slope * at));
  return { slope, at: (x) => base + slope * x };
}
