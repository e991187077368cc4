export const MAX_PATH_SEGMENTS = 32;
export const MAX_SEGMENT_LENGTH = 128;
export const MAX_PATH_BYTES = 1024;

/** Segments that may follow a secret's path in a URL. A secret whose own path ended in one could not be addressed unambiguously. */
export const RESERVED_LAST_SEGMENTS = ['versions', 'rotate', 'move', 'copy', 'rollback', 'restore', 'risk'] as const;

export type ReservedSegment = (typeof RESERVED_LAST_SEGMENTS)[number];
export type SecretPathResult = { ok: true; path: string } | { ok: false; reason: string };

/** The path rules that a JSON Schema pattern can express. `parseSecretPath` also checks dot segments and reserved segments. */
export const SECRET_PATH_PATTERN = '^[A-Za-z0-9._@+=-]{1,128}(?:/[A-Za-z0-9._@+=-]{1,128}){0,31}$';

const SEGMENT = /^[A-Za-z0-9._@+=-]+$/;
/** Matches paths in which no segment starts with a dot: nearly all. Only their length and last segment still have to be checked. */
const WITHOUT_LEADING_DOTS =
  /^[A-Za-z0-9_@+=-][A-Za-z0-9._@+=-]{0,127}(?:\/[A-Za-z0-9_@+=-][A-Za-z0-9._@+=-]{0,127}){0,31}$/;

/**
 * Checks a path that has been percent-decoded exactly once. It is accepted or rejected, never normalized: policies and the database compare paths
 * byte by byte, so a second spelling of a path would bypass a rule about the first.
 */
export function parseSecretPath(decodedOnce: string): SecretPathResult {
  // A code unit is at least one byte, so this limits the work. Accepted text is ASCII, for which the limit is exact.
  if (decodedOnce.length > MAX_PATH_BYTES) return invalid(`must be at most ${MAX_PATH_BYTES} bytes`);
  if (WITHOUT_LEADING_DOTS.test(decodedOnce) && !isReserved(lastSegment(decodedOnce)))
    return { ok: true, path: decodedOnce };
  const segments = decodedOnce.split('/');
  if (segments.length > MAX_PATH_SEGMENTS) return invalid(`must have at most ${MAX_PATH_SEGMENTS} segments`);
  for (const segment of segments) {
    const reason = segmentProblem(segment);
    if (reason !== null) return invalid(reason);
  }
  if (isReserved(lastSegment(decodedOnce))) {
    return invalid(`must not end in a reserved segment (${RESERVED_LAST_SEGMENTS.join(', ')})`);
  }
  return { ok: true, path: decodedOnce };
}

/** Splits off a reserved last segment, for routes that end in one. The rest must still pass `parseSecretPath`. */
export function splitReservedSuffix(decodedOnce: string): { path: string; suffix: ReservedSegment | null } {
  const slash = decodedOnce.lastIndexOf('/');
  const last = lastSegment(decodedOnce);
  if (slash === -1 || !isReserved(last)) return { path: decodedOnce, suffix: null };
  return { path: decodedOnce.slice(0, slash), suffix: last };
}

function segmentProblem(segment: string): string | null {
  if (segment === '') return 'must not be empty, start or end with a slash, or have an empty segment';
  if (segment === '.' || segment === '..') return 'must not have . or .. as a segment';
  if (segment.length > MAX_SEGMENT_LENGTH) return `must have segments of at most ${MAX_SEGMENT_LENGTH} characters`;
  return SEGMENT.test(segment) ? null : 'must have only letters, digits and . _ @ + = - in its segments';
}

function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

const RESERVED: ReadonlySet<string> = new Set(RESERVED_LAST_SEGMENTS);

function isReserved(segment: string): segment is ReservedSegment {
  return RESERVED.has(segment);
}

function invalid(reason: string): SecretPathResult {
  return { ok: false, reason };
}
