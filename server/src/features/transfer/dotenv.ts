/**
 * Parses `.env` files. There is no standard: what shells and the common libraries agree on is parsed their way, what some of them would expand or
 * execute (`$X`) stays text and is reported, and a malformed line is refused with its number instead of being stored wrong.
 */

export const DOTENV_ENTRIES_MAX = 1000;
/** Lines with a key, including repeated ones: parsing blocks the event loop, so its length is bounded. */
export const DOTENV_ASSIGNMENTS_MAX = 10_000;
export const DOTENV_BYTES_MAX = 2 * 1024 * 1024;

/** Lines whose author may have meant something else: an earlier line has the same key, or a shell would have expanded part of the value. */
export type DotenvWarning = 'repeated_key' | 'unexpanded_variable';

export interface DotenvEntry {
  readonly key: string;
  readonly value: string;
  /** The line on which it begins, counted from 1. */
  readonly line: number;
  readonly warnings: readonly DotenvWarning[];
}

/** The message gives line and reason, never the content of the line. */
export class DotenvError extends Error {
  override readonly name = 'DotenvError';
  readonly line: number;
  readonly reason: string;

  constructor(line: number, reason: string) {
    super(`Line ${line} ${reason}.`);
    this.line = line;
    this.reason = reason;
  }
}

/** Shell variables contain no dots or dashes, but many files that only libraries read do. */
const HEAD = /[ \t]*(?:export[ \t]+)?([A-Za-z0-9_.-]+)[ \t]*=/y;
const BETWEEN = /[ \t\n]*(?:#[^\n]*)?/y;
const REST_OF_LINE = /[ \t]*(?:#[^\n]*)?(?:\n|$)/y;
const BLANKS = /[ \t]*/y;
const PLAIN_PART = /[^"\\]*/y;
const LITERAL_QUOTES = ["'", '`'];
/** A variable or command where a shell expands it: outside of single quotes, without a backslash. */
const EXPANSION = /\$[A-Za-z_{(]/;
/** NUL fits into no environment variable, half of a surrogate pair into no file. */
export const UNFIT = /[\0\p{Surrogate}]/u;
export const UNFIT_REASON = 'has a NUL or half of a surrogate pair';
const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  '\\': '\\',
  $: '$',
  // Not in every dialect, but a shell requires this escape.
  '`': '`',
};

export function parseDotenv(text: string): { entries: DotenvEntry[] } {
  if (Buffer.byteLength(text) > DOTENV_BYTES_MAX) throw new DotenvError(1, 'starts a file that is larger than 2 MiB');
  const unmarked = text.startsWith('\ufeff') ? text.slice(1) : text;
  // Line breaks become LF in multi-line values, as in the common libraries, however the file was saved. A literal CR is written as \r in double
  // quotes.
  return { entries: new Parser(unmarked.replace(/\r\n?/g, '\n')).run() };
}

interface ReadValue {
  value: string;
  hasExpansion: boolean;
}

class Parser {
  readonly #source: string;
  readonly #entries = new Map<string, DotenvEntry>();
  #assignments = 0;
  #at = 0;
  #line = 1;
  #counted = 0;

  constructor(source: string) {
    this.#source = source;
  }

  run(): DotenvEntry[] {
    const unfit = this.#source.search(UNFIT);
    if (unfit !== -1) throw new DotenvError(this.#lineOf(unfit), UNFIT_REASON);
    while (this.#at < this.#source.length) {
      this.#match(BETWEEN);
      const next = this.#source[this.#at];
      if (next !== undefined && next !== '\n') this.#entry();
    }
    return [...this.#entries.values()];
  }

  /** The last of several lines with the same key wins, as in a shell and in every library. */
  #entry(): void {
    const line = this.#lineOf(this.#at);
    const key = this.#match(HEAD)?.[1];
    if (key === undefined) throw new DotenvError(line, 'must have the form KEY=value');
    const isRepeated = this.#entries.has(key);
    if (!isRepeated && this.#entries.size === DOTENV_ENTRIES_MAX) {
      throw new DotenvError(line, `exceeds the maximum of ${DOTENV_ENTRIES_MAX} entries in a file`);
    }
    if (this.#assignments === DOTENV_ASSIGNMENTS_MAX) {
      throw new DotenvError(line, `exceeds the maximum of ${DOTENV_ASSIGNMENTS_MAX} lines with a key in a file`);
    }
    this.#assignments++;
    const { value, hasExpansion } = this.#value(line);
    const warnings: DotenvWarning[] = [];
    if (isRepeated) warnings.push('repeated_key');
    if (hasExpansion) warnings.push('unexpanded_variable');
    this.#entries.set(key, { key, value, line, warnings });
  }

  #value(line: number): ReadValue {
    const start = this.#at;
    this.#match(BLANKS);
    const quote = this.#source.charAt(this.#at);
    const isLiteral = LITERAL_QUOTES.includes(quote);
    if (!isLiteral && quote !== '"') {
      this.#at = start;
      return this.#unquoted();
    }
    this.#at++;
    const read = isLiteral ? this.#literal(line, quote) : this.#escaped(line);
    if (this.#match(REST_OF_LINE) === null) {
      throw new DotenvError(this.#lineOf(this.#at), 'has text after the closing quote');
    }
    return read;
  }

  /** Ends at the line end, or at a `#` after a blank; a `#` inside a word belongs to the value. */
  #unquoted(): ReadValue {
    const lineFeed = this.#source.indexOf('\n', this.#at);
    const end = lineFeed === -1 ? this.#source.length : lineFeed;
    const rest = this.#source.slice(this.#at, end);
    this.#at = end + 1;
    const comment = rest.search(/[ \t]#/);
    const value = trimmed(comment === -1 ? rest : rest.slice(0, comment));
    return { value, hasExpansion: EXPANSION.test(value) };
  }

  #literal(line: number, quote: string): ReadValue {
    const end = this.#source.indexOf(quote, this.#at);
    if (end === -1) throw new DotenvError(line, 'opens a quote that is never closed');
    const value = this.#source.slice(this.#at, end);
    this.#at = end + 1;
    return { value, hasExpansion: false };
  }

  #escaped(line: number): ReadValue {
    const parts: string[] = [];
    let hasExpansion = false;
    for (;;) {
      const plain = String(this.#match(PLAIN_PART)?.[0]);
      parts.push(plain);
      hasExpansion ||= EXPANSION.test(plain);
      const found = this.#source[this.#at];
      if (found === '"') break;
      const next = this.#source[this.#at + 1];
      if (next === undefined) throw new DotenvError(line, 'opens a quote that is never closed');
      // An unknown escape keeps its backslash, as in a shell.
      parts.push(ESCAPES[next] ?? `\\${next}`);
      this.#at += 2;
    }
    this.#at++;
    return { value: parts.join(''), hasExpansion };
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#source);
    if (match !== null) this.#at = pattern.lastIndex;
    return match;
  }

  /** Positions come in ascending order, so each line feed is counted once. */
  #lineOf(position: number): number {
    for (;;) {
      const next = this.#source.indexOf('\n', this.#counted);
      if (next === -1 || next >= position) return this.#line;
      this.#counted = next + 1;
      this.#line++;
    }
  }
}

/** Without a regular expression: one for trailing blanks would backtrack at every blank in the middle. */
function trimmed(text: string): string {
  const isBlank = (at: number) => at >= 0 && ' \t'.includes(text.charAt(at) || 'x');
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(start)) start++;
  while (end > start && isBlank(end - 1)) end--;
  return text.slice(start, end);
}
