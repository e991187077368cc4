import { globMatches } from './glob.ts';
import { ALL_PATHS, exactly, type PathRange, startingWith } from './path-ranges.ts';

/** Where below `vault/<name>/` a resource pattern can match. `covers`: it matches everything in those ranges. */
export interface PatternRanges {
  readonly ranges: readonly PathRange[];
  readonly covers: boolean;
}

const NOWHERE: PatternRanges = { ranges: [], covers: true };
const EVERYWHERE: PatternRanges = { ranges: [ALL_PATHS], covers: true };
const ANYWHERE: PatternRanges = { ranges: [ALL_PATHS], covers: false };

/** `segments` are those of a resource pattern: `*` matches within its segment, a final `*` and any `**` cross segments. */
export function rangesOfPattern(segments: readonly string[], vault: string): PatternRanges {
  const [first = '', second] = segments;
  const isLast = segments.length === 1;
  if (first === '**' || (first === '*' && isLast)) return isLast ? EVERYWHERE : ANYWHERE;
  if (second === undefined || !globMatches(first, 'vault', 0, 'vault'.length)) return NOWHERE;
  const isSecondLast = segments.length === 2;
  if (second === '**') return isSecondLast ? EVERYWHERE : ANYWHERE;
  if (isSecondLast) return second === '*' ? EVERYWHERE : NOWHERE;
  return globMatches(second, vault, 0, vault.length) ? rangesBelow(segments.slice(2)) : NOWHERE;
}

function rangesBelow(segments: readonly string[]): PatternRanges {
  const wild = segments.findIndex((segment) => segment.includes('*'));
  if (wild === -1) return { ranges: [exactly(segments.join('/'))], covers: true };
  const segment = segments[wild] ?? '';
  const parent = segments.slice(0, wild).join('/');
  const below = parent === '' ? '' : `${parent}/`;
  const isLast = wild === segments.length - 1;
  if (segment === '**') {
    // `a/**` also matches `a` itself.
    const ranges = parent === '' ? [ALL_PATHS] : [exactly(parent), startingWith(below)];
    return { ranges, covers: isLast };
  }
  if (segment === '*' && isLast) return { ranges: [startingWith(below)], covers: true };
  return { ranges: [startingWith(below + segment.slice(0, segment.indexOf('*')))], covers: false };
}

/** The names of the vaults that a pattern matches: the vaults themselves, not their contents. */
export function vaultsOfPattern(segments: readonly string[]): PatternRanges {
  const [first = '', second, ...rest] = segments;
  if (first === '**' || (first === '*' && second === undefined)) return second === undefined ? EVERYWHERE : ANYWHERE;
  if (second === undefined || !globMatches(first, 'vault', 0, 'vault'.length)) return NOWHERE;
  if (second === '**') return rest.length === 0 ? EVERYWHERE : ANYWHERE;
  // `vault/a/**` also matches `vault/a` itself.
  if (rest.some((segment) => segment !== '**')) return NOWHERE;
  const wild = second.indexOf('*');
  if (wild === -1) return { ranges: [exactly(second)], covers: true };
  return { ranges: [startingWith(second.slice(0, wild))], covers: wild === second.length - 1 };
}
