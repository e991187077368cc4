import { resourcePatternCost } from './matching-cost.ts';
import { ALL_PATHS, exactly, union } from './path-ranges.ts';
import { compileResourcePattern, isResource, type ResourcePattern } from './pattern.ts';
import { compileEach } from './policy.ts';

const VAULT = 'vault/';
const inVault = (path: string) => `${VAULT}*/${path}`;

/**
 * A scope of some vaults and the given paths in each of them. As in a policy, `*` matches within a segment and a final `/*` crosses segments. One
 * pattern covers all of them, because a machine may have a hundred vaults and a hundred paths.
 */
export function pathScope(vaults: ReadonlySet<string>, paths: readonly string[], pointer: string): ResourcePattern {
  const patterns = compileEach(paths, (path) => compileResourcePattern(inVault(path)), pointer);
  const isAll = paths.some((path) => path === '*' || path === '**');
  const matchesResource = (resource: string) => {
    if (!resource.startsWith(VAULT)) return false;
    const end = resource.indexOf('/', VAULT.length);
    if (!vaults.has(resource.slice(VAULT.length, end === -1 ? undefined : end))) return false;
    return end === -1 || isAll || patterns.some((pattern) => pattern.matchesResource(resource));
  };
  const names = { ranges: [...vaults].map(exactly), covers: true };
  return {
    text: 'the places of a connection',
    matchesResource,
    vaults: () => names,
    matches: (value) => isResource(value) && matchesResource(value),
    rangesIn: (vault) => {
      if (!vaults.has(vault)) return { ranges: [], covers: true };
      if (isAll) return { ranges: [ALL_PATHS], covers: true };
      const reaches = patterns.map((pattern) => pattern.rangesIn(vault));
      return { ranges: union(reaches.flatMap(({ ranges }) => ranges)), covers: reaches.every(({ covers }) => covers) };
    },
  };
}

/** How long a decision by this scope takes at most, as `matching-cost.ts` counts it. */
export function pathScopeCost(paths: readonly string[]): number {
  return paths.reduce((cost, path) => cost + resourcePatternCost(inVault(path)), 0);
}
