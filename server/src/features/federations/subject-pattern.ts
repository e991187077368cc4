import { RE2JS } from 're2js';

export const SUBJECT_PATTERN_LENGTH_MAX = 256;
/** More wildcards never express anything that fewer do not, and each costs time. */
const WILDCARDS_MAX = 8;

/** Claims that identify the owner of a repository or project by an id that nobody else can ever have. */
export const ID_CLAIMS = [
  'repository_id',
  'repository_owner_id',
  'project_id',
  'namespace_id',
  'repositoryUuid',
  'workspaceUuid',
] as const;

const PIECES = /\*+|[^*]+/g;

/** Whether the whole subject matches the pattern: `*` does not cross `:` or `/`, `**` does, and everything else is literal. */
export function matchesSubject(pattern: string, subject: string): boolean {
  const pieces = pattern.match(PIECES) ?? [];
  const expression = pieces.map((piece) => {
    if (piece === '*') return '[^:/]*';
    return piece === '**' ? '.*' : RE2JS.quote(piece);
  });
  return RE2JS.compile(`^(?:${expression.join('')})$`, RE2JS.DOTALL).matches(subject);
}

/** Returns why a pattern is refused, or null. */
export function patternProblem(pattern: string, pinned: readonly string[], ownerEnd: OwnerEnd): string | null {
  const wildcards = pattern.match(/\*+/g) ?? [];
  if (wildcards.some((wildcard) => wildcard.length > 2)) return 'has more than two stars in a row';
  if (wildcards.length > WILDCARDS_MAX) return `has more than ${WILDCARDS_MAX} wildcards`;
  if (!/[^*:/]/.test(pattern)) return 'consists only of wildcards: it would match everyone';
  const isPinned = ID_CLAIMS.some((claim) => pinned.includes(claim));
  const first = pattern.indexOf('*');
  if (first !== -1 && first < ownerEnd(pattern) && !isPinned) {
    return `has a wildcard in the part that names the owner: repo:acme* also matches repo:acme-evil. Write that part in full, or require one of ${ID_CLAIMS.join(', ')} in claims`;
  }
  return null;
}

/** Returns where the part that names the owner ends. A wildcard before that could match somebody else's name. */
export type OwnerEnd = (pattern: string) => number;

/** `repo:OWNER/…`, `project_path:GROUP/…`, `https://HOST/…`: ends at the first slash; without one, at the second colon, or at the end. */
export const ownerEndsWithSlash: OwnerEnd = (pattern) => {
  const scheme = /^[a-z]+:\/\//.exec(pattern)?.[0].length ?? 0;
  const slash = pattern.indexOf('/', scheme);
  if (slash !== -1) return slash;
  const colon = pattern.indexOf(':', pattern.indexOf(':') + 1);
  return colon > pattern.indexOf(':') ? colon : pattern.length;
};

/** `{repository}:{step}`: ends at the first colon. */
export const ownerEndsWithColon: OwnerEnd = (pattern) => {
  const colon = pattern.indexOf(':');
  return colon === -1 ? pattern.length : colon;
};
