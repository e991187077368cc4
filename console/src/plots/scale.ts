/** How a count becomes a length. With `root` it is the square root, so that one very large count does not flatten the others. */
export type Scale = 'linear' | 'root';

/** A count this many times above nearly all others would flatten them. */
const OUTLIER_FACTOR = 6;
const NEARLY_ALL = 0.9;

export function chooseScale(counts: readonly number[]): Scale {
  const sorted = counts.filter((count) => count > 0).toSorted((a, b) => a - b);
  const usual = sorted[Math.floor((sorted.length - 1) * NEARLY_ALL)] ?? 0;
  return (sorted.at(-1) ?? 0) > usual * OUTLIER_FACTOR ? 'root' : 'linear';
}

/** Between 0 and 1. */
export function shareOf(count: number, max: number, scale: Scale = 'linear'): number {
  if (max <= 0 || count <= 0) return 0;
  const share = Math.min(1, count / max);
  return scale === 'root' ? Math.sqrt(share) : share;
}

const STEPS = [1, 2, 2.5, 5, 10];

/** The round number at the top of an axis: not less than the count, and at least 1. */
export function roundedUp(count: number): number {
  if (count <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(count));
  const step = STEPS.find((each) => each * power >= count && Number.isInteger(each * power));
  return (step ?? 10) * power;
}

/** A point, in the units of the picture. */
export type Point = readonly [x: number, y: number];

/** A smooth curve through the points that never rises above or falls below its neighbours, so that it shows nothing that is not there. */
export function curve(points: readonly Point[]): string {
  const [first] = points;
  if (first === undefined) return '';
  const slopes = slopesOf(points);
  let path = `M${text(first[0])} ${text(first[1])}`;
  for (let i = 1; i < points.length; i++) {
    const [from, to] = [points[i - 1] as Point, points[i] as Point];
    const third = (to[0] - from[0]) / 3;
    const [leaving, arriving] = [slopes[i - 1] ?? 0, slopes[i] ?? 0];
    path += `C${text(from[0] + third)} ${text(from[1] + third * leaving)} ${text(to[0] - third)} ${text(to[1] - third * arriving)} ${text(to[0])} ${text(to[1])}`;
  }
  return path;
}

/** The same, closed along a base line. */
export function area(points: readonly Point[], base: number): string {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return '';
  return `${curve(points)}L${text(last[0])} ${text(base)}L${text(first[0])} ${text(base)}Z`;
}

/** Zero where the direction changes; otherwise the smaller of both sides bounds it. */
function slopesOf(points: readonly Point[]): number[] {
  const between = points.slice(1).map((point, i) => {
    const before = points[i] as Point;
    return (point[1] - before[1]) / (point[0] - before[0] || 1);
  });
  return points.map((_, i) => {
    const [before, after] = [between[i - 1], between[i]];
    if (before === undefined || after === undefined) return before ?? after ?? 0;
    if (before * after <= 0) return 0;
    return Math.sign(before) * Math.min(Math.abs(before), Math.abs(after), Math.abs(before + after) / 2);
  });
}

function text(number: number): string {
  return String(Math.round(number * 100) / 100);
}
