import { join } from 'node:path';
import { readBoundedFile } from '../bounded-file.ts';
import { CommandError } from '../failure.ts';

export const IGNORE_FILE = '.cofferignore';
const BYTES_MAX = 64 * 1024;
const RULE_LENGTH_MAX = 1024;

/** Any number of folders. */
const DEEP = Symbol('**');
const ANY = Symbol('*');
const ONE = Symbol('?');
type Segment = typeof DEEP | readonly (string | typeof ANY | typeof ONE)[];

interface Rule {
  segments: readonly Segment[];
  isNegated: boolean;
  isForFolders: boolean;
}

/** Which paths are left out, by the rules of `.gitignore`: later lines win, and `!` takes a path in again. */
export class Ignored {
  readonly #rules: readonly Rule[];

  constructor(text: string) {
    this.#rules = text.split('\n').flatMap(ruleOf);
  }

  static of(folder: string): Ignored {
    return new Ignored(readBoundedFile(join(folder, IGNORE_FILE), BYTES_MAX) ?? '');
  }

  /** For a path below the folder of the file, with slashes. */
  has(path: string, isFolder: boolean): boolean {
    const parts = path.split('/').map((part) => [...part]);
    const last = this.#rules.findLast(
      ({ segments, isForFolders }) => (isFolder || !isForFolders) && matchesPath(segments, parts),
    );
    return last !== undefined && !last.isNegated;
  }

  /** Also for a path in a folder that is left out, where nobody walks through the folders. */
  covers(path: string): boolean {
    const parts = path.split('/');
    return parts.some((_, i) => this.has(parts.slice(0, i + 1).join('/'), i < parts.length - 1));
  }
}

function ruleOf(line: string): Rule[] {
  if (line.length > RULE_LENGTH_MAX)
    throw new CommandError(`${IGNORE_FILE} has a line of more than ${RULE_LENGTH_MAX} characters. Shorten it.`);
  const trimmed = withoutSpaceAtEnd(line);
  if (trimmed === '' || trimmed.startsWith('#')) return [];
  const isNegated = trimmed.startsWith('!');
  const pattern = isNegated ? trimmed.slice(1) : trimmed.replace(/^\\(?=[#!])/, '');
  const isForFolders = pattern.endsWith('/');
  const bare = isForFolders ? pattern.slice(0, -1) : pattern;
  // A slash at the beginning or inside ties the pattern to the folder of the file.
  const segments = (bare.startsWith('/') ? bare.slice(1) : bare).split('/').map(segmentOf);
  return [{ segments: bare.includes('/') ? segments : [DEEP, ...segments], isNegated, isForFolders }];
}

/** A space after a backslash belongs to the name. */
function withoutSpaceAtEnd(line: string): string {
  let end = line.length;
  while (end > 0 && /[\s]/.test(line.charAt(end - 1)) && line.charAt(end - 2) !== '\\') end--;
  return line.slice(0, end);
}

function segmentOf(text: string): Segment {
  if (text === '**') return DEEP;
  const signs: (string | typeof ANY | typeof ONE)[] = [];
  const characters = [...text];
  for (let i = 0; i < characters.length; i++) {
    const sign = characters[i] as string;
    if (sign === '\\' && i + 1 < characters.length) signs.push(characters[++i] as string);
    else if (sign === '*') signs.push(ANY);
    else signs.push(sign === '?' ? ONE : sign);
  }
  return signs;
}

type Name = readonly string[];

/** `**` at the end stands for at least one name, elsewhere for any number. */
function matchesPath(segments: readonly Segment[], path: readonly Name[]): boolean {
  const last = segments.at(-1);
  const wanted = last === DEEP ? [...segments, [ANY]] : segments;
  return matchesAll(
    wanted,
    path,
    (segment) => segment === DEEP,
    (segment, name) =>
      matchesAll(
        segment as Exclude<Segment, typeof DEEP>,
        name,
        (sign) => sign === ANY,
        (sign, character) => sign === ONE || sign === character,
      ),
  );
}

/** Matches a list with wildcards in at most (length of pattern × length of list) steps: only the last wildcard ever takes more. */
function matchesAll<P, T>(
  pattern: readonly P[],
  list: readonly T[],
  isWildcard: (part: P) => boolean,
  matches: (part: P, item: T) => boolean,
): boolean {
  let [at, item] = [0, 0];
  let [wildcard, matched] = [-1, 0];
  while (item < list.length) {
    const part = pattern[at];
    if (at < pattern.length && isWildcard(part as P)) {
      wildcard = at++;
      matched = item;
    } else if (at < pattern.length && matches(part as P, list[item] as T)) {
      at++;
      item++;
    } else if (wildcard !== -1) {
      at = wildcard + 1;
      item = ++matched;
    } else return false;
  }
  while (at < pattern.length && isWildcard(pattern[at] as P)) at++;
  return at === pattern.length;
}
