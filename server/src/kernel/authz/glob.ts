/** A segment that is exactly `**` matches zero or more segments. */
export const GLOBSTAR = '**';

/**
 * A greedy match with one backtracking point: after a mismatch only the latest `**` is extended by one segment. The part between two `**` has a fixed
 * number of segments, so its earliest match is always sufficient. The time is at most that number times the length of the resource.
 */
export function segmentsMatch(parts: readonly string[], resource: string): boolean {
  let part = 0;
  let at = 0;
  let resumePart = -1;
  let resumeAt = 0;
  while (at <= resource.length) {
    const pattern = parts[part];
    if (pattern === GLOBSTAR) {
      if (part === parts.length - 1) return true;
      resumePart = ++part;
      resumeAt = at;
      continue;
    }
    const end = segmentEnd(resource, at);
    if (pattern !== undefined && globMatches(pattern, resource, at, end)) {
      part++;
      at = end + 1;
      continue;
    }
    if (resumePart === -1) return false;
    resumeAt = segmentEnd(resource, resumeAt) + 1;
    part = resumePart;
    at = resumeAt;
  }
  while (parts[part] === GLOBSTAR) part++;
  return part === parts.length;
}

/**
 * Compares a glob with `value` from `from` to `to`, in time linear in both: the text before the first `*` and after the last one has a fixed place,
 * and of what stands between two, the first occurrence is always sufficient.
 */
export function globMatches(glob: string, value: string, from: number, to: number): boolean {
  const first = glob.indexOf('*');
  if (first === -1) return glob.length === to - from && isAt(value, from, glob, 0, glob.length);
  const last = glob.lastIndexOf('*');
  const suffix = glob.length - last - 1;
  if (first + suffix > to - from) return false;
  if (!isAt(value, from, glob, 0, first) || !isAt(value, to - suffix, glob, last + 1, glob.length)) return false;
  const end = to - suffix;
  let at = from + first;
  for (let star = first; star < last; ) {
    const next = glob.indexOf('*', star + 1);
    at = endOfFirst(value, at, end, glob, star + 1, next);
    if (at === -1) return false;
    star = next;
  }
  return true;
}

// biome-ignore lint/complexity/useMaxParams: runs for each letter that is matched, where an object costs
function isAt(value: string, at: number, glob: string, from: number, to: number): boolean {
  for (let g = from, v = at; g < to; g++, v++) if (glob.charCodeAt(g) !== value.charCodeAt(v)) return false;
  return true;
}

/** For each length of a literal's beginning: how many of its first characters are also its last. Shared, because matching does not wait. */
const borders = new Uint16Array(0x1000);
/** Below this length a comparison at every place costs less than preparing the borders. */
const SHORT_LITERAL = 4;

/** Where the first occurrence of a part of the glob in the value ends, or -1: the algorithm of Knuth, Morris and Pratt. */
// biome-ignore lint/complexity/useMaxParams: runs for each letter that is matched, where an object costs
function endOfFirst(value: string, at: number, end: number, glob: string, from: number, to: number): number {
  const length = to - from;
  if (length > end - at) return -1;
  if (length < SHORT_LITERAL) {
    for (let v = at; v + length <= end; v++) if (isAt(value, v, glob, from, to)) return v + length;
    return -1;
  }
  findBorders(glob, from, length);
  let matched = 0;
  for (let v = at; v < end; v++) {
    const code = value.charCodeAt(v);
    while (matched > 0 && glob.charCodeAt(from + matched) !== code) matched = borders[matched - 1] as number;
    if (glob.charCodeAt(from + matched) === code) matched++;
    if (matched === length) return v + 1;
  }
  return -1;
}

function findBorders(glob: string, from: number, length: number): void {
  borders[0] = 0;
  let border = 0;
  for (let at = 1; at < length; at++) {
    const code = glob.charCodeAt(from + at);
    while (border > 0 && glob.charCodeAt(from + border) !== code) border = borders[border - 1] as number;
    if (glob.charCodeAt(from + border) === code) border++;
    borders[at] = border;
  }
}

export function segmentEnd(text: string, from: number): number {
  const slash = text.indexOf('/', from);
  return slash === -1 ? text.length : slash;
}
