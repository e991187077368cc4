/**
 * Whether a path of a secret is one of those that a connection may have. As the service decides it: `*` stands for characters within a segment, `**`
 * for any segments, and a last `*` for everything below.
 */
export function matchesPath(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === '**') return true;
  const segments = pattern.split('/');
  return segmentsMatch(segments.at(-1) === '*' ? [...segments, '**'] : segments, path.split('/'));
}

function segmentsMatch([first, ...rest]: readonly string[], path: readonly string[]): boolean {
  if (first === undefined) return path.length === 0;
  if (first === '**') return path.some((_, at) => segmentsMatch(rest, path.slice(at))) || segmentsMatch(rest, []);
  const [segment, ...below] = path;
  return segment !== undefined && segmentMatches(first, segment) && segmentsMatch(rest, below);
}

function segmentMatches(pattern: string, segment: string): boolean {
  const [start = '', ...parts] = pattern.split('*');
  if (parts.length === 0) return segment === pattern;
  if (!segment.startsWith(start)) return false;
  const end = parts.pop() ?? '';
  let at = start.length;
  for (const part of parts) {
    const found = segment.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return segment.length - end.length >= at && segment.endsWith(end);
}

/** What somebody may mean who types the beginning of a path, or a part of it: folders first, then secrets. */
export function suggestedPatterns(paths: readonly string[], typed: string, max: number): string[] {
  const folders = new Set(
    paths.flatMap((path) => {
      const segments = path.split('/').slice(0, -1);
      return segments.map((_, at) => `${segments.slice(0, at + 1).join('/')}/*`);
    }),
  );
  const all = [...[...folders].toSorted(), ...[...new Set(paths)].toSorted()];
  return all.filter((each) => each !== typed && each.includes(typed)).slice(0, max);
}
