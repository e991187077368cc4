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

export function intersection(a: readonly PathRange[], b: readonly PathRange[]): PathRange[] {
  const common: PathRange[] = [];
  for (const x of a) {
    for (const y of b) {
      const from = x.from > y.from ? x.from : y.from;
      const to = x.to < y.to ? x.to : y.to;
      if (from < to) common.push({ from, to });
    }
  }
  return union(common);
}

/** The parts of `a` that are in none of `b`. */
export function difference(a: readonly PathRange[], b: readonly PathRange[]): PathRange[] {
  let rest = union(a);
  for (const hole of union(b)) {
    rest = rest.flatMap((range) => {
      if (hole.to <= range.from || hole.from >= range.to) return [range];
      return [
        { from: range.from, to: hole.from },
        { from: hole.to, to: range.to },
      ].filter(({ from, to }) => from < to);
    });
  }
  return rest;
}
