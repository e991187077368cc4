/**
 * Reads and writes `.env` files. There is no standard: what shells and the common libraries agree on is read their way, what one of
 * them would execute (`$X`, backquotes) stays text, and what cannot be meant is refused with its line instead of being stored wrong.
 */

export const DOTENV_ENTRIES_MAX = 1000;
export const DOTENV_BYTES_MAX = 2 * 1024 * 1024;

export interface DotenvEntry {
  readonly key: string;
  readonly value: string;
  /** Where it begins, counted from 1. */
  readonly line: number;
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

const KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HEAD = /[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=/y;
const NOTHING = /[ \t\r]*(?:#[^\n]*)?(?:\n|$)/y;
const BLANKS = /[ \t]*/y;
const PLAIN_PART = /[^"\\]*/y;
const BARE_LINE_FEED = /(?<!\r)\n/;
/** NUL fits in no environment variable; half of a surrogate pair in no file. */
const UNFIT = /[\0\p{Surrogate}]/u;
const UNFIT_REASON = 'has a NUL or half of a surrogate pair';
const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  '\\': '\\',
  $: '$',
  // Not in every dialect, but a shell needs it written so, and without it `formatDotenv` could not be read back.
  '`': '`',
};

export function parseDotenv(text: string): { entries: DotenvEntry[] } {
  if (Buffer.byteLength(text) > DOTENV_BYTES_MAX) throw new DotenvError(1, 'begins a file of more than 2 MiB');
  const unmarked = text.startsWith('\ufeff') ? text.slice(1) : text;
  // Where every line ends in CR LF, that is how the file was saved, and no part of a value of several lines. Where only some do, the
  // CR belongs to a value.
  const source = BARE_LINE_FEED.test(unmarked) ? unmarked : unmarked.replaceAll('\r\n', '\n');
  return { entries: new Parser(source).run() };
}

class Parser {
  readonly #source: string;
  readonly #entries: DotenvEntry[] = [];
  readonly #lines = new Map<string, number>();
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
      if (this.#match(NOTHING) === null) this.#entry();
    }
    return this.#entries;
  }

  #entry(): void {
    const line = this.#lineOf(this.#at);
    const key = this.#match(HEAD)?.[1];
    if (key === undefined) throw new DotenvError(line, 'is not of the form KEY=value');
    const earlier = this.#lines.get(key);
    if (earlier !== undefined) throw new DotenvError(line, `repeats the key of line ${earlier}`);
    if (this.#entries.length === DOTENV_ENTRIES_MAX) {
      throw new DotenvError(line, `is more than the ${DOTENV_ENTRIES_MAX} entries a file may have`);
    }
    this.#lines.set(key, line);
    this.#entries.push({ key, value: this.#value(line), line });
  }

  #value(line: number): string {
    const start = this.#at;
    this.#match(BLANKS);
    const quote = this.#source[this.#at];
    if (quote !== "'" && quote !== '"') {
      this.#at = start;
      return this.#unquoted();
    }
    this.#at++;
    const value = quote === "'" ? this.#literal(line) : this.#escaped(line);
    if (this.#match(NOTHING) === null) {
      throw new DotenvError(this.#lineOf(this.#at), 'has text behind the closing quote');
    }
    return value;
  }

  /** To the end of the line, or to a `#` with a blank before it; one inside a word belongs to the value. */
  #unquoted(): string {
    const lineFeed = this.#source.indexOf('\n', this.#at);
    const end = lineFeed === -1 ? this.#source.length : lineFeed;
    const rest = this.#source.slice(this.#at, end);
    this.#at = end + 1;
    const comment = rest.search(/[ \t]#/);
    return trimmed(comment === -1 ? rest : rest.slice(0, comment));
  }

  #literal(line: number): string {
    const end = this.#source.indexOf("'", this.#at);
    if (end === -1) throw new DotenvError(line, 'opens a quote that is never closed');
    const value = this.#source.slice(this.#at, end);
    this.#at = end + 1;
    return value;
  }

  #escaped(line: number): string {
    const parts: string[] = [];
    for (;;) {
      parts.push(String(this.#match(PLAIN_PART)?.[0]));
      const found = this.#source[this.#at];
      if (found === '"') break;
      const next = this.#source[this.#at + 1];
      if (next === undefined) throw new DotenvError(line, 'opens a quote that is never closed');
      // What is no escape keeps its backslash, as in a shell.
      parts.push(ESCAPES[next] ?? `\\${next}`);
      this.#at += 2;
    }
    this.#at++;
    return parts.join('');
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
  const isBlank = (at: number) => at >= 0 && ' \t\r'.includes(text.charAt(at) || 'x');
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(start)) start++;
  while (end > start && isBlank(end - 1)) end--;
  return text.slice(start, end);
}

/** Means itself to every reader, also to those that know no quotes. */
const BARE = /^[A-Za-z0-9_./:@%+,=-]*$/;

/**
 * Writes what `parseDotenv` and a shell (`set -a; . file`) both read back exactly. Single quotes wherever they can be used: inside them
 * nothing is special to anybody.
 */
export function formatDotenv(entries: readonly Pick<DotenvEntry, 'key' | 'value'>[]): string {
  const lines: string[] = [];
  const keys = new Set<string>();
  let line = 1;
  for (const { key, value } of entries) {
    if (!KEY.test(key)) throw new DotenvError(line, 'would have a key that is no name of an environment variable');
    if (keys.has(key)) throw new DotenvError(line, 'would repeat a key');
    if (UNFIT.test(value)) throw new DotenvError(line, UNFIT_REASON);
    if (keys.size === DOTENV_ENTRIES_MAX) throw new DotenvError(line, `is more than ${DOTENV_ENTRIES_MAX} entries`);
    keys.add(key);
    lines.push(`${key}=${quoted(value)}\n`);
    line += value.split('\n').length;
  }
  const text = lines.join('');
  if (Buffer.byteLength(text) > DOTENV_BYTES_MAX) throw new DotenvError(line, 'ends a file of more than 2 MiB');
  return text;
}

function quoted(value: string): string {
  if (BARE.test(value)) return value;
  return value.includes("'") ? `"${value.replace(/[\\"$`]/g, '\\$&')}"` : `'${value}'`;
}
