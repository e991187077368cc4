import { RE2JS } from 're2js';

export const SUBJECT_PATTERN_LENGTH_MAX = 256;
/** More of them never say anything that fewer do not, and each is work. */
const WILDCARDS_MAX = 8;

/** Claims that name who owns a repository or project by an id that nobody else can ever have. */
export const ID_CLAIMS = [
  'repository_id',
  'repository_owner_id',
  'project_id',
  'namespace_id',
  'repositoryUuid',
  'workspaceUuid',
] as const;

const PIECES = /\*+|[^*]+/g;

/** Whether the whole subject is what the pattern says: `*` stays between `:` and `/`, `**` crosses them, everything else is itself. */
export function matchesSubject(pattern: string, subject: string): boolean {
  const pieces = pattern.match(PIECES) ?? [];
  const expression = pieces.map((piece) => {
    if (piece === '*') return '[^:/]*';
    return piece === '**' ? '.*' : RE2JS.quote(piece);
  });
  return RE2JS.compile(`^(?:${expression.join('')})$`, RE2JS.DOTALL).matches(subject);
}

/** Why a pattern is not accepted, or null. */
export function patternProblem(pattern: string, pinned: readonly string[], ownerEnd: OwnerEnd): string | null {
  const wildcards = pattern.match(/\*+/g) ?? [];
  if (wildcards.some((wildcard) => wildcard.length > 2)) return 'has more than two stars in a row';
  if (wildcards.length > WILDCARDS_MAX) return `has more than ${WILDCARDS_MAX} wildcards`;
  if (!/[^*:/]/.test(pattern)) return 'is nothing but wildcards: it would let everyone in';
  const isPinned = ID_CLAIMS.some((claim) => pinned.includes(claim));
  const first = pattern.indexOf('*');
  if (first !== -1 && first < ownerEnd(pattern) && !isPinned) {
    return `has a wildcard in the part that names the owner: repo:acme* is repo:acme-evil too. Write that part out, or pin one of ${ID_CLAIMS.join(', ')} in claims`;
  }
  return null;
}

/** Up to where a pattern names the owner; a wildcard before it could stand for somebody else's name. */
export type OwnerEnd = (pattern: string) => number;

/** `repo:OWNER/…`, `project_path:GROUP/…`, `https://HOST/…`: up to the first slash; without one, up to the second colon, or all of it. */
export const ownerEndsWithSlash: OwnerEnd = (pattern) => {
  const scheme = /^[a-z]+:\/\//.exec(pattern)?.[0].length ?? 0;
  const slash = pattern.indexOf('/', scheme);
  if (slash !== -1) return slash;
  const colon = pattern.indexOf(':', pattern.indexOf(':') + 1);
  return colon > pattern.indexOf(':') ? colon : pattern.length;
};

/** `{repository}:{step}`: up to the first colon. */
export const ownerEndsWithColon: OwnerEnd = (pattern) => {
  const colon = pattern.indexOf(':');
  return colon === -1 ? pattern.length : colon;
};
