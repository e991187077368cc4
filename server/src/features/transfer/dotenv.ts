/**
 * Reads `.env` files. There is no standard: what shells and the common libraries agree on is read their way, what one of them would
 * expand or execute (`$X`) stays text and is reported, and what cannot be meant is refused with its line instead of being stored wrong.
 */

export const DOTENV_ENTRIES_MAX = 1000;
/** Lines with a key, repeated ones included: parsing blocks the event loop, so its length is bounded. */
export const DOTENV_ASSIGNMENTS_MAX = 10_000;
export const DOTENV_BYTES_MAX = 2 * 1024 * 1024;

/** What the writer of a file may have meant otherwise: an earlier line has the same key, or a shell would have replaced a part of the value. */
export type DotenvWarning = 'repeated_key' | 'unexpanded_variable';

export interface DotenvEntry {
  readonly key: string;
  readonly value: string;
  /** Where it begins, counted from 1. */
  readonly line: number;
  readonly warnings: readonly DotenvWarning[];
}

/** Says where and why, never what was there. */
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

/** Dots and dashes are in no name of a shell, but in many files that only a library reads. */
const HEAD = /[ \t]*(?:export[ \t]+)?([A-Za-z0-9_.-]+)[ \t]*=/y;
const BETWEEN = /[ \t\n]*(?:#[^\n]*)?/y;
const REST_OF_LINE = /[ \t]*(?:#[^\n]*)?(?:\n|$)/y;
const BLANKS = /[ \t]*/y;
const PLAIN_PART = /[^"\\]*/y;
const LITERAL_QUOTES = ["'", '`'];
/** A variable or a command, where a shell replaces it: outside of single quotes, without a backslash. */
const EXPANSION = /\$[A-Za-z_{(]/;
/** NUL fits in no environment variable; half of a surrogate pair in no file. */
export const UNFIT = /[\0\p{Surrogate}]/u;
export const UNFIT_REASON = 'has a NUL or half of a surrogate pair';
const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  '\\': '\\',
  $: '$',
  // Not in every dialect, but a shell needs it written so.
  '`': '`',
};

export function parseDotenv(text: string): { entries: DotenvEntry[] } {
  if (Buffer.byteLength(text) > DOTENV_BYTES_MAX) throw new DotenvError(1, 'begins a file of more than 2 MiB');
  const unmarked = text.startsWith('\ufeff') ? text.slice(1) : text;
  // However a file was saved, its line breaks are LF in a value of several lines, as the common libraries read it. A CR that is meant is
  // written as \r in double quotes.
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

  /** Of lines with the same key the last one counts, as in a shell and in every library. */
  #entry(): void {
    const line = this.#lineOf(this.#at);
    const key = this.#match(HEAD)?.[1];
    if (key === undefined) throw new DotenvError(line, 'is not of the form KEY=value');
    const isRepeated = this.#entries.has(key);
    if (!isRepeated && this.#entries.size === DOTENV_ENTRIES_MAX) {
      throw new DotenvError(line, `is more than the ${DOTENV_ENTRIES_MAX} entries a file may have`);
    }
    if (this.#assignments === DOTENV_ASSIGNMENTS_MAX) {
      throw new DotenvError(line, `is more than the ${DOTENV_ASSIGNMENTS_MAX} lines with a key a file may have`);
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
      throw new DotenvError(this.#lineOf(this.#at), 'has text behind the closing quote');
    }
    return read;
  }

  /** To the end of the line, or to a `#` with a blank before it; one inside a word belongs to the value. */
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
      // What is no escape keeps its backslash, as in a shell.
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

  /** Positions come in order, so each line feed is counted once. */
  #lineOf(position: number): number {
    for (;;) {
      const next = this.#source.indexOf('\n', this.#counted);
      if (next === -1 || next >= position) return this.#line;
      this.#counted = next + 1;
      this.#line++;
    }
  }
}

/** By hand: a pattern for the blanks at the end would try again at every blank in the middle. */
function trimmed(text: string): string {
  const isBlank = (at: number) => at >= 0 && ' \t'.includes(text.charAt(at) || 'x');
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(start)) start++;
  while (end > start && isBlank(end - 1)) end--;
  return text.slice(start, end);
}
