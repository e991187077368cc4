/** An isolation forest (Liu, Ting and Zhou, 2008): points that few random splits separate from the others are outliers. */

const TREES = 100;
const SAMPLE = 256;
const EULER = 0.5772156649015329;

type Point = readonly number[];
/** The number of points that ended here, or a split. */
type Node = { size: number } | { feature: number; at: number; below: Node; above: Node };

export class IsolationForest {
  readonly #trees: Node[];
  readonly #normal: number;

  /** `random` yields numbers from 0 to 1; with a seed, the same points give the same forest. */
  constructor(points: readonly Point[], random: () => number, trees = TREES) {
    const size = Math.min(SAMPLE, points.length);
    const depthMax = Math.ceil(Math.log2(Math.max(size, 2)));
    this.#normal = averagePath(size);
    this.#trees = Array.from({ length: trees }, () => grow(sampleOf(points, size, random), 0, depthMax, random));
  }

  /** From 0 to 1. Around 0.5 a point is like the others; near 1 it is alone. */
  score(point: Point): number {
    const paths = this.#trees.map((tree) => pathLength(tree, point, 0));
    const average = paths.reduce((sum, path) => sum + path, 0) / paths.length;
    return this.#normal === 0 ? 0.5 : 2 ** (-average / this.#normal);
  }
}

/** The average depth of an unsuccessful search in a binary tree of this many points. */
function averagePath(size: number): number {
  if (size <= 1) return 0;
  return size === 2 ? 1 : 2 * (Math.log(size - 1) + EULER) - (2 * (size - 1)) / size;
}

function grow(points: readonly Point[], depth: number, depthMax: number, random: () => number): Node {
  const split = depth >= depthMax ? null : splitOf(points, random);
  if (split === null) return { size: points.length };
  const { feature, at } = split;
  const isBelow = (point: Point) => (point[feature] ?? 0) < at;
  return {
    feature,
    at,
    below: grow(points.filter(isBelow), depth + 1, depthMax, random),
    above: grow(
      points.filter((point) => !isBelow(point)),
      depth + 1,
      depthMax,
      random,
    ),
  };
}

/** A random place in a random feature that differs between the points; null if none does. */
function splitOf(points: readonly Point[], random: () => number): { feature: number; at: number } | null {
  const ranges = (points[0] ?? []).flatMap((_, feature) => {
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const point of points) {
      low = Math.min(low, point[feature] ?? 0);
      high = Math.max(high, point[feature] ?? 0);
    }
    return high > low ? [{ feature, low, high }] : [];
  });
  const chosen = ranges[Math.floor(random() * ranges.length)];
  if (points.length <= 1 || chosen === undefined) return null;
  const { feature, low, high } = chosen;
  // Above `low`, so that both sides have at least one point.
  return { feature, at: high - random() * (high - low) };
}

function pathLength(node: Node, point: Point, depth: number): number {
  if ('size' in node) return depth + averagePath(node.size);
  return pathLength((point[node.feature] ?? 0) < node.at ? node.below : node.above, point, depth + 1);
}

/** Draws without replacement, by the first steps of a Fisher-Yates shuffle. */
function sampleOf(points: readonly Point[], size: number, random: () => number): Point[] {
  const pool = [...points];
  for (let i = 0; i < size; i++) {
    const j = i + Math.floor(random() * (pool.length - i));
    [pool[i], pool[j]] = [pool[j] as Point, pool[i] as Point];
  }
  return pool.slice(0, size);
}
