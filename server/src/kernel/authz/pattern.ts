import { GLOBSTAR, globMatches, segmentEnd, segmentsMatch } from './glob.ts';
import {
  MAX_ACTION_CHARS,
  MAX_ACTION_HALF_CHARS,
  MAX_RESOURCE_CHARS,
  MAX_RESOURCE_PATTERN_CHARS,
  MAX_VAULT_NAME_CHARS,
} from './limits.ts';
import { type PatternRanges, rangesOfPattern, vaultsOfPattern } from './pattern-ranges.ts';

/** The text of a pattern or resource is malformed. Messages say what to write and never repeat the text. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

export interface Pattern {
  readonly text: string;
  matches(value: string): boolean;
}

export interface ResourcePattern extends Pattern {
  /** For callers that checked `isResource` once and then try many patterns. */
  matchesResource(resource: string): boolean;
  /** Where in the named vault it can match. */
  rangesIn(vault: string): PatternRanges;
  /** The names of the vaults it matches. */
  vaults(): PatternRanges;
}

const HALF = `[a-z][a-z0-9_]{0,${MAX_ACTION_HALF_CHARS - 1}}`;
const ACTION = new RegExp(`^${HALF}:${HALF}$`);
const ACTION_PATTERN = new RegExp(`^(?:\\*|${HALF}):(?:\\*|${HALF})$`);

/** A requested action is always concrete: text with a wildcard or in upper case is not an action. */
export function isAction(text: string): boolean {
  return text.length <= MAX_ACTION_CHARS && ACTION.test(text);
}

export function compileActionPattern(text: string): Pattern {
  const full = text === '*' ? '*:*' : text;
  if (full.length > MAX_ACTION_CHARS || !ACTION_PATTERN.test(full)) {
    throw new PatternError('Write an action as <resource>:<verb> in lower case; * can only replace a whole half.');
  }
  return new ActionPattern(text, full);
}

/** A class, because a tenant may have thousands of patterns and a closure for each would take several times the memory. */
class ActionPattern implements Pattern {
  readonly text: string;
  readonly #start: string;
  readonly #end: string;

  constructor(text: string, full: string) {
    const colon = full.indexOf(':');
    this.text = text;
    this.#start = full.startsWith('*') ? '' : full.slice(0, colon + 1);
    this.#end = full.endsWith('*') ? '' : full.slice(colon);
  }

  matches(value: string): boolean {
    return isAction(value) && value.startsWith(this.#start) && value.endsWith(this.#end);
  }
}

/**
 * A resource has exactly one spelling. With an empty or dot segment, `vault/app/x/` would bypass a deny of `vault/app/x` and still match an allow
 * of `vault/app/**`, so such text is not a resource and nothing matches it.
 */
export function isResource(text: string): boolean {
  if (text.length > MAX_RESOURCE_CHARS) return false;
  for (let at = 0; at <= text.length; ) {
    const end = segmentEnd(text, at);
    if (isHollow(text, at, end)) return false;
    at = end + 1;
  }
  return true;
}

const DOT = 0x2e;

function isHollow(text: string, from: number, to: number): boolean {
  if (to - from > 2) return false;
  for (let at = from; at < to; at++) if (text.charCodeAt(at) !== DOT) return false;
  return true;
}

/** The characters that `literalResource` produces, and the wildcard. A pattern with any other could never match a resource. */
const PATTERN_SEGMENT = /^(?:[A-Za-z0-9._@+=:~*-]|%[0-9A-F]{2})+$/;
const OUTSIDE_LITERAL = /[^A-Za-z0-9._@+=:~-]+/g;

/** Whether some action matches both patterns. */
export function actionsMeet(one: Pattern, other: Pattern): boolean {
  const [a, b] = [halvesOf(one), halvesOf(other)];
  return a.every((half, at) => half === '*' || b[at] === '*' || half === b[at]);
}

function halvesOf({ text }: Pattern): string[] {
  return text === '*' ? ['*', '*'] : text.split(':');
}

export function compileResourcePattern(text: string): ResourcePattern {
  if (text.length === 0 || text.length > MAX_RESOURCE_PATTERN_CHARS) {
    throw new PatternError(`Write a resource of 1 to ${MAX_RESOURCE_PATTERN_CHARS} characters.`);
  }
  const segments = text.split('/');
  segments.forEach(refuseBadSegment);
  return new SegmentPattern(text, segments);
}

function refuseBadSegment(segment: string): void {
  if (isHollow(segment, 0, segment.length)) {
    throw new PatternError('Remove the empty or dot segment: no leading, trailing or double slash, no "." or "..".');
  }
  if (!PATTERN_SEGMENT.test(segment)) {
    throw new PatternError('Use letters, digits, . _ @ + = : ~ - and * in a segment; write other bytes as %XX.');
  }
  if (segment !== GLOBSTAR && segment.includes('**')) {
    throw new PatternError('Use ** only as a whole segment, or a single * inside one.');
  }
}

/** Nearly all patterns are a literal, or a literal followed by a subtree. Those take one comparison. */
type Form = 'everything' | 'literal' | 'below' | 'subtree' | 'segments';

function formOf(segments: readonly string[]): Form {
  const last = segments.at(-1);
  const firstWild = segments.findIndex((segment) => segment.includes('*'));
  if (segments.length === 1 && (last === '*' || last === GLOBSTAR)) return 'everything';
  if (firstWild === -1) return 'literal';
  if (firstWild < segments.length - 1) return 'segments';
  if (last === '*') return 'below';
  return last === GLOBSTAR ? 'subtree' : 'segments';
}

/** Stores only what matching needs. `rangesIn` and `vaults`, which lists use, split the text again. */
class SegmentPattern implements ResourcePattern {
  readonly text: string;
  readonly #form: Form;
  /** For `below` and `subtree`: the prefix of every resource below. */
  readonly #below: string;
  readonly #segments: readonly string[] | null;

  constructor(text: string, segments: readonly string[]) {
    this.text = text;
    this.#form = formOf(segments);
    const isBelow = this.#form === 'below' || this.#form === 'subtree';
    this.#below = isBelow ? text.slice(0, text.lastIndexOf('/') + 1) : '';
    // A final `*` means one segment followed by anything. Written as `*` and `**`, the matcher has only one kind of wildcard that crosses segments.
    const parts = segments.at(-1) === '*' ? [...segments, GLOBSTAR] : segments;
    this.#segments = this.#form === 'segments' ? parts : null;
  }

  matchesResource(resource: string): boolean {
    switch (this.#form) {
      case 'everything':
        return true;
      case 'literal':
        return resource === this.text;
      case 'below':
        return resource.startsWith(this.#below);
      case 'subtree':
        return resource.startsWith(this.#below) || isParent(resource, this.#below);
      case 'segments':
        return segmentsMatch(this.#segments ?? [], resource);
    }
  }

  matches(value: string): boolean {
    return isResource(value) && this.matchesResource(value);
  }

  rangesIn(vault: string): PatternRanges {
    return rangesOfPattern(this.text.split('/'), vault);
  }

  vaults(): PatternRanges {
    return vaultsOfPattern(this.text.split('/'));
  }
}

/** `a/**` also matches `a` itself. */
function isParent(resource: string, below: string): boolean {
  return resource.length === below.length - 1 && below.startsWith(resource);
}

const VAULT_NAME_PATTERN = new RegExp(`^[A-Za-z0-9*][A-Za-z0-9._*-]{0,${MAX_VAULT_NAME_CHARS - 1}}$`);

/** A pattern for vault names, in which `*` matches within the name. It is compared with the second segment of `vault/<name>/…`. */
export function compileVaultNamePattern(text: string): Pattern {
  if (!VAULT_NAME_PATTERN.test(text) || text.includes('**')) {
    throw new PatternError('Write a vault name, with a single * for any run of characters inside it.');
  }
  return { text, matches: (name) => !name.includes('/') && globMatches(text, name, 0, name.length) };
}

/**
 * Joins text from identities (user names, claims, namespaces) into a resource. Each argument becomes exactly one segment: separators, wildcards,
 * dot segments and `%` are percent-encoded, so that different inputs give different resources and the result, even if compiled as a pattern,
 * matches only itself. A secret path has several segments: use `vaultResource` for it, because a deny below one of its folders would not match
 * otherwise.
 */
export function literalResource(...segments: readonly string[]): string {
  const resource = segments.map(literalSegment).join('/');
  if (resource.length === 0 || resource.length > MAX_RESOURCE_CHARS) {
    throw new PatternError(`Name a resource of 1 to ${MAX_RESOURCE_CHARS} characters.`);
  }
  return resource;
}

export function vaultResource(vault: string, path?: string): string {
  return path === undefined ? literalResource('vault', vault) : literalResource('vault', vault, ...path.split('/'));
}

function literalSegment(segment: string): string {
  if (segment.length === 0) throw new PatternError('Leave no segment of a resource empty.');
  if (segment.length > MAX_RESOURCE_CHARS) throw new PatternError('Shorten the segments of the resource.');
  // All lone surrogates encode to the same replacement character, so two different names could become one.
  if (!segment.isWellFormed()) throw new PatternError('Write the segments of a resource in well-formed Unicode.');
  if (isHollow(segment, 0, segment.length)) return segment.replaceAll('.', '%2E');
  return segment.replace(OUTSIDE_LITERAL, percentEncode);
}

function percentEncode(run: string): string {
  return encodeURIComponent(run).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}
