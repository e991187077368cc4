const SEGMENTS_MAX = 32;
const SEGMENT_LENGTH_MAX = 128;
const PATH_LENGTH_MAX = 1024;
/** The service uses them behind a path, so no path ends in one. */
const RESERVED = new Set(['versions', 'rotate', 'move', 'copy', 'rollback', 'restore', 'risk']);

export type TargetPath = { path: string; isRenamed: boolean } | { reason: string };

/**
 * The path in Coffer for the names of folders and of a secret elsewhere. Each character that a path cannot have becomes `_`, and a last name that is
 * reserved gets one more.
 */
export function targetPath(prefix: readonly string[], names: readonly string[]): TargetPath {
  const segments = [...prefix, ...names.map(segmentOf)];
  const last = segments.at(-1);
  if (last === undefined) return { reason: 'it has no name' };
  if (RESERVED.has(last)) segments[segments.length - 1] = `${last}_`;
  if (segments.length > SEGMENTS_MAX) return { reason: `its path would have more than ${SEGMENTS_MAX} segments` };
  if (segments.some((segment) => segment.length > SEGMENT_LENGTH_MAX))
    return { reason: `a name in its path is longer than ${SEGMENT_LENGTH_MAX} characters` };
  const path = segments.join('/');
  if (path.length > PATH_LENGTH_MAX) return { reason: `its path would be longer than ${PATH_LENGTH_MAX} characters` };
  return { path, isRenamed: path !== [...prefix, ...names].join('/') };
}

function segmentOf(name: string): string {
  if (name === '' || name === '.' || name === '..') return '_'.repeat(Math.max(1, name.length));
  return name.replace(/[^A-Za-z0-9._@+=-]/gu, '_');
}

/** The segments of `--prefix`, or null if it is not a valid one. It is never changed: it is what the caller wrote. */
export function prefixSegments(prefix: string): string[] | null {
  const segments = prefix.replace(/\/$/, '').split('/');
  const isValid = segments.every(
    (name) => name.length <= SEGMENT_LENGTH_MAX && name !== '' && segmentOf(name) === name,
  );
  return isValid ? segments : null;
}
