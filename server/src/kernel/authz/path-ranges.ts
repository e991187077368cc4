/**
 * Ranges of a sorted list of paths or names, as half-open intervals. Lists use them to load only rows that the caller may see, so that a page does
 * not cost as much as everything the caller may not see.
 */
export interface PathRange {
  readonly from: string;
  /** Exclusive. */
  readonly to: string;
}

/** Sorts after every character of a path, all of which are ASCII. */
const AFTER_ALL = '\x7f';
export const ALL_PATHS: PathRange = { from: '', to: AFTER_ALL };

/** All paths with this prefix. */
export function startingWith(prefix: string): PathRange {
  if (prefix === '') return ALL_PATHS;
  const last = prefix.charCodeAt(prefix.length - 1);
  return { from: prefix, to: prefix.slice(0, -1) + String.fromCharCode(last + 1) };
}

/** The smallest text that sorts after this path. It does not use NUL, which PostgreSQL rejects in text. */
export function justAfter(path: string): string {
  return `${path}\x01`;
}

export function exactly(path: string): PathRange {
  return { from: path, to: justAfter(path) };
}

export function isIn({ from, to }: PathRange, path: string): boolean {
  return path >= from && path < to;
}

/** Whether the path is in one of these ranges, which are sorted and disjoint. */
export function isInSome(ranges: readonly PathRange[], path: string): boolean {
  let first = 0;
  for (let end = ranges.length; first < end; ) {
    const middle = (first + end) >>> 1;
    const range = ranges[middle] as PathRange;
    if (path < range.from) end = middle;
    else if (path >= range.to) first = middle + 1;
    else return true;
  }
  return false;
}

/** The single path of a range, if it contains only one. */
export function onlyPath({ from, to }: PathRange): string | null {
  return to === justAfter(from) ? from : null;
}

/** The ranges sorted, disjoint and without empty ones. */
export function union(ranges: readonly PathRange[]): PathRange[] {
  const sorted = ranges
    .filter(({ from, to }) => from < to)
    .toSorted((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0));
  const merged: PathRange[] = [];
  for (const range of sorted) {
    const last = merged.at(-1);
    if (last === undefined || range.from > last.to) merged.push(range);
    else if (range.to > last.to) merged[merged.length - 1] = { from: last.from, to: range.to };
  }
  return merged;
}

/** Both lists are walked once, because policies may have thousands of ranges each. */
export function intersection(a: readonly PathRange[], b: readonly PathRange[]): PathRange[] {
  const common: PathRange[] = [];
  const [ones, others] = [union(a), union(b)];
  for (let i = 0, n = 0; i < ones.length && n < others.length; ) {
    const [x, y] = [ones[i] as PathRange, others[n] as PathRange];
    const from = x.from > y.from ? x.from : y.from;
    const to = x.to < y.to ? x.to : y.to;
    if (from < to) common.push({ from, to });
    if (x.to < y.to) i++;
    else n++;
  }
  return common;
}

/** The parts of `a` that are in none of `b`. */
export function difference(a: readonly PathRange[], b: readonly PathRange[]): PathRange[] {
  const rest: PathRange[] = [];
  const holes = union(b);
  let n = 0;
  for (const { from: start, to } of union(a)) {
    let from = start;
    while (n < holes.length && (holes[n] as PathRange).to <= from) n++;
    // The last hole may reach into the next range, so it is not passed here.
    for (let at = n; at < holes.length && (holes[at] as PathRange).from < to; at++) {
      const hole = holes[at] as PathRange;
      if (hole.from > from) rest.push({ from, to: hole.from });
      from = hole.to;
      n = at;
    }
    if (from < to) rest.push({ from, to });
  }
  return rest;
}
