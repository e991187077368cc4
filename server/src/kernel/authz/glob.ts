/** A segment that is exactly `**` matches zero or more segments. */
export const GLOBSTAR = '**';
const STAR = 0x2a;

/**
 * A greedy match with one backtracking point: after a mismatch only the latest `**` is extended by one segment. The part between two `**` has a fixed
 * number of segments, so its earliest match is always sufficient, and no pattern segment is compared twice with the same segment of the resource.
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

/** The same greedy match over characters: at most pattern length times value length steps for any pattern. */
export function globMatches(glob: string, value: string, from: number, to: number): boolean {
  let g = 0;
  let v = from;
  let resumeGlob = -1;
  let resumeValue = from;
  while (v < to) {
    const wanted = g < glob.length ? glob.charCodeAt(g) : -1;
    if (wanted === STAR) {
      resumeGlob = ++g;
      resumeValue = v;
    } else if (wanted === value.charCodeAt(v)) {
      g++;
      v++;
    } else if (resumeGlob !== -1) {
      g = resumeGlob;
      v = ++resumeValue;
    } else {
      return false;
    }
  }
  while (g < glob.length && glob.charCodeAt(g) === STAR) g++;
  return g === glob.length;
}

export function segmentEnd(text: string, from: number): number {
  const slash = text.indexOf('/', from);
  return slash === -1 ? text.length : slash;
}
