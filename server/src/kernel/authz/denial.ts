import { onlyPath, type PathRange } from './path-ranges.ts';
import { actionsMeet, type Pattern, type ResourcePattern } from './pattern.ts';
import type { CompiledPolicy } from './policy.ts';

/**
 * Whether a deny covers any vault in `vaults` or any path in `places`, existing or future, if its conditions hold. The result is exact if either
 * side is a single path; for two patterns with wildcards it may be true although they never match the same path. A step is one pattern.
 */
export function* isDeniedWithin(
  policies: readonly CompiledPolicy[],
  action: Pattern,
  vaults: readonly string[],
  places: ResourcePattern,
): Generator<void, boolean> {
  const denied = policies
    .flatMap(({ statements }) => statements)
    .filter(({ effect, actions }) => effect === 'deny' && actions.some((one) => actionsMeet(one, action)))
    .flatMap(({ resources }) => resources);
  if (denied.length === 0) return false;
  for (const vault of vaults) {
    const { ranges } = places.rangesIn(vault);
    for (const pattern of denied) {
      if (pattern.matches(`vault/${vault}`) || meets(pattern, places, ranges, vault)) return true;
      yield;
    }
  }
  return false;
}

function meets(denied: ResourcePattern, places: ResourcePattern, ranges: readonly PathRange[], vault: string): boolean {
  const resource = (path: string) => `vault/${vault}/${path}`;
  return denied.rangesIn(vault).ranges.some((reached) =>
    ranges.some((range) => {
      if (reached.from >= range.to || range.from >= reached.to) return false;
      const [path, deniedPath] = [onlyPath(range), onlyPath(reached)];
      if (path !== null) return denied.matches(resource(path));
      return deniedPath === null || places.matches(resource(deniedPath));
    }),
  );
}
