import { badRequest } from './errors.ts';
import { FILTER_LENGTH_MAX, GROUP_SCHEMA, USER_SCHEMA } from './schemas.ts';

const TEXT_OPERATORS = ['co', 'sw', 'ew'] as const;
/** Contains, starts with, ends with. */
export type TextOperator = (typeof TEXT_OPERATORS)[number];

/** The filters of RFC 7644, 3.4.2.2, without comparisons by order. */
export type Filter =
  | { kind: 'eq'; attribute: string; value: FilterValue }
  | { kind: TextOperator; attribute: string; value: string }
  /** The attribute has a value. */
  | { kind: 'pr'; attribute: string }
  | { kind: 'not'; filter: Filter }
  | { kind: 'and'; parts: readonly Filter[] }
  | { kind: 'or'; parts: readonly Filter[] }
  /** `emails[type eq "work"]`: some element of the attribute matches. */
  | { kind: 'some'; attribute: string; filter: Filter };
export type FilterValue = string | number | boolean;

/** The target of a PATCH operation (RFC 7644, 3.5.2): `name.givenName`, `members[value eq "…"]`, `emails[type eq "work"].value`. */
export interface Path {
  /** Names are compared without regard to case, so they are in lower case. */
  attribute: string;
  sub: string | null;
  filter: Filter | null;
}

const COMPARISONS_MAX = 50;
const DEPTH_MAX = 8;

const TOKEN = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|(\.?[A-Za-z$][\w$:.-]*)|(-?\d{1,15})(?![\w.]))/y;
const NAME = /^[a-z$][\w$-]*(?:\.[a-z$][\w$-]*)?$/;
const CORE_PREFIXES = [USER_SCHEMA, GROUP_SCHEMA].map((urn) => `${urn}:`.toLowerCase());
const OTHER_URN = /^urn:[\w:.-]+$/;

export function parseFilter(text: string): Filter {
  return new Parser(text, invalidFilter).filter();
}

/** The path of a PATCH operation. */
export function parsePath(text: string): Path {
  return new Parser(text, invalidPath).path();
}

/** The canonical text of a filter, which parses to the same filter. */
export function filterText(filter: Filter): string {
  if (filter.kind === 'eq') return `${filter.attribute} eq ${JSON.stringify(filter.value)}`;
  if (filter.kind === 'pr') return `${filter.attribute} pr`;
  if (isTextComparison(filter)) return `${filter.attribute} ${filter.kind} ${JSON.stringify(filter.value)}`;
  if (filter.kind === 'not') return `not (${filterText(filter.filter)})`;
  if (filter.kind === 'some') return `${filter.attribute}[${filterText(filter.filter)}]`;
  const parts = filter.parts.map((part) => (isJoined(part) ? `(${filterText(part)})` : filterText(part)));
  return parts.join(` ${filter.kind} `);
}

export function isTextComparison(filter: Filter): filter is Extract<Filter, { kind: TextOperator }> {
  return (TEXT_OPERATORS as readonly string[]).includes(filter.kind);
}

function isJoined({ kind }: Filter): boolean {
  return kind === 'and' || kind === 'or';
}

/** Null if it cannot be the name of an attribute. An attribute of a schema that is not known here keeps its whole name. */
export function attributeName(text: string): string | null {
  const name = text.toLowerCase();
  const prefix = CORE_PREFIXES.find((one) => name.startsWith(one));
  const bare = prefix === undefined ? name : name.slice(prefix.length);
  return NAME.test(bare) || (prefix === undefined && OTHER_URN.test(bare)) ? bare : null;
}

class Parser {
  readonly #tokens: readonly string[];
  readonly #refuse: () => Error;
  #at = 0;
  #comparisons = 0;

  constructor(text: string, refuse: () => Error) {
    this.#refuse = refuse;
    this.#tokens = text.length > FILTER_LENGTH_MAX ? [] : tokensOf(text, refuse);
  }

  filter(): Filter {
    const filter = this.#joined('or', 0);
    if (this.#at < this.#tokens.length) throw this.#refuse();
    return filter;
  }

  path(): Path {
    const [attribute = '', sub = null, ...more] = split(this.#name());
    if (more.length > 0) throw this.#refuse();
    if (this.#at === this.#tokens.length) return { attribute, sub, filter: null };
    const filter = this.#bracketed(0);
    const after = this.#tokens[this.#at++]?.toLowerCase() ?? null;
    const isSub = after === null || /^\.[a-z$][\w$-]*$/.test(after);
    if (sub !== null || filter === null || !isSub || this.#at < this.#tokens.length) throw this.#refuse();
    return { attribute, sub: after?.slice(1) ?? null, filter };
  }

  #joined(kind: 'or' | 'and', depth: number): Filter {
    if (depth > DEPTH_MAX) throw this.#refuse();
    const next = () => (kind === 'or' ? this.#joined('and', depth) : this.#one(depth));
    const parts = [next()];
    while (this.#isWord(kind)) parts.push(next());
    const [only, ...others] = parts;
    if (only !== undefined && others.length === 0) return only;
    return { kind, parts: parts.flatMap((part) => (part.kind === kind ? part.parts : [part])) };
  }

  #one(depth: number): Filter {
    if (this.#is('(')) {
      const filter = this.#joined('or', depth + 1);
      if (!this.#is(')')) throw this.#refuse();
      return filter;
    }
    if (this.#tokens[this.#at + 1] === '(' && this.#isWord('not')) return { kind: 'not', filter: this.#one(depth + 1) };
    const attribute = this.#name();
    const filter = this.#bracketed(depth);
    if (filter === null) return this.#comparison(attribute);
    const sub = this.#tokens[this.#at];
    if (sub?.startsWith('.') !== true) return { kind: 'some', attribute, filter };
    // Entra writes emails[type eq "work"].value eq "…", which has no meaning in the standard but this one.
    this.#at++;
    const name = attributeName(sub.slice(1));
    if (name === null) throw this.#refuse();
    const compared = this.#comparison(name);
    const parts = filter.kind === 'and' ? [...filter.parts, compared] : [filter, compared];
    return { kind: 'some', attribute, filter: { kind: 'and', parts } };
  }

  #bracketed(depth: number): Filter | null {
    if (!this.#is('[')) return null;
    const filter = this.#joined('or', depth + 1);
    if (!this.#is(']')) throw this.#refuse();
    return filter;
  }

  #comparison(attribute: string): Filter {
    if (++this.#comparisons > COMPARISONS_MAX) throw this.#refuse();
    if (this.#isWord('pr')) return { kind: 'pr', attribute };
    if (this.#isWord('ne')) return { kind: 'not', filter: { kind: 'eq', attribute, value: this.#value() } };
    const kind = TEXT_OPERATORS.find((operator) => this.#isWord(operator));
    if (kind === undefined && !this.#isWord('eq')) throw this.#refuse();
    const value = this.#value();
    if (kind === undefined) return { kind: 'eq', attribute, value };
    if (typeof value !== 'string' || value === '') throw this.#refuse();
    return { kind, attribute, value };
  }

  #value(): FilterValue {
    const token = this.#tokens[this.#at++] ?? '';
    if (token.startsWith('"')) return stringOf(token, this.#refuse);
    if (/^-?\d/.test(token)) return Number(token) + 0;
    const word = token.toLowerCase();
    if (word === 'true' || word === 'false') return word === 'true';
    throw this.#refuse();
  }

  #name(): string {
    const token = this.#tokens[this.#at++] ?? '';
    const name = token.startsWith('.') ? null : attributeName(token);
    if (name === null) throw this.#refuse();
    return name;
  }

  #is(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false;
    this.#at++;
    return true;
  }

  #isWord(word: string): boolean {
    if (this.#tokens[this.#at]?.toLowerCase() !== word) return false;
    this.#at++;
    return true;
  }
}

/** A name of another schema has dots that separate nothing. */
function split(name: string): string[] {
  return name.startsWith('urn:') ? [name] : name.split('.');
}

function tokensOf(text: string, refuse: () => Error): string[] {
  const tokens: string[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const found = TOKEN.exec(text);
    if (found === null) throw refuse();
    tokens.push(found.slice(1).find((part) => part !== undefined) ?? '');
  }
  return tokens;
}

/** RFC 7644 writes strings as JSON does. */
function stringOf(token: string, refuse: () => Error): string {
  try {
    return JSON.parse(token) as string;
  } catch {
    throw refuse();
  }
}

function invalidFilter(): Error {
  return badRequest(
    'invalidFilter',
    'The filter is not supported. What works: attributes compared by eq, ne, co, sw, ew and pr, joined by and, or, not and parentheses, such as userName eq "ada@example.com".',
  );
}

function invalidPath(): Error {
  return badRequest(
    'invalidPath',
    'The path is not supported. What works: an attribute, attribute.subAttribute, and attribute[value eq "…"].',
  );
}
