import { isUtf8 } from 'node:buffer';

export const MAX_JSON_DEPTH = 32;
/** Keys of objects and elements of arrays, counted over the whole body. A declaration may allow more. */
export const MAX_JSON_MEMBERS = 20_000;

/** The body is not acceptable JSON. The message says what is wrong and where, and never repeats the body. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

/**
 * Parses a body strictly. It is scanned before JSON.parse, because depth and member count must be limited before objects are created, and because
 * duplicate keys are not visible afterwards: two parsers that keep different ones disagree about what was authorised.
 */
export function parseJson(body: Buffer, membersMax: number = MAX_JSON_MEMBERS): unknown {
  if (body.length === 0) throw new JsonError('The body is empty; JSON is expected.');
  if (!isUtf8(body)) throw new JsonError('The body is not valid UTF-8.');
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw new JsonError('The body starts with a byte order mark; send UTF-8 without one.');
  }
  const text = body.toString('utf8');
  new Scanner(text, membersMax).run();
  try {
    return JSON.parse(text);
  } catch (error) {
    // After the scan, JSON.parse can only fail inside a string. Its message quotes the body, so only the position is used.
    const position = / at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(
      error instanceof Error ? error.message : '',
    );
    throw failure('a string has a control character or an invalid escape', text, Number(position?.[1] ?? 0));
  }
}

const EXPECTED = {
  value: 'a value',
  'first element': 'a value or a closing bracket',
  'first key': 'a key or a closing bracket',
  key: 'a key',
  colon: 'a colon',
  comma: 'a comma or a closing bracket',
  end: 'the end',
} as const;

type Expect = keyof typeof EXPECTED;

/** The keys seen in an open object; null for an open array. */
type Frame = Set<string> | null;

const CODE = {
  tab: 0x09,
  lineFeed: 0x0a,
  carriageReturn: 0x0d,
  space: 0x20,
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  openArray: 0x5b,
  backslash: 0x5c,
  closeArray: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const;

const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/** Checks everything in a JSON text except the inside of its strings, without recursion and in linear time. */
class Scanner {
  readonly #text: string;
  readonly #membersMax: number;
  readonly #frames: Frame[] = [];
  #at = 0;
  #expect: Expect = 'value';
  #members = 0;
  #nextBackslash = -1;

  constructor(text: string, membersMax: number) {
    this.#text = text;
    this.#membersMax = membersMax;
  }

  run(): void {
    while (this.#at < this.#text.length) this.#step();
    if (this.#expect !== 'end') this.#fail('the JSON ends too early');
  }

  #step(): void {
    const code = this.#text.charCodeAt(this.#at);
    if (code === CODE.quote) this.#string();
    else if (code === CODE.comma) this.#comma();
    else if (code === CODE.colon) this.#colon();
    else if (code === CODE.openObject) this.#open(new Set(), 'first key');
    else if (code === CODE.closeObject) this.#close('first key');
    else if (code === CODE.openArray) this.#open(null, 'first element');
    else if (code === CODE.closeArray) this.#close('first element');
    else if (isWhitespace(code)) this.#at++;
    else this.#scalar();
  }

  #open(frame: Frame, expect: Expect): void {
    this.#beginValue();
    if (this.#frames.length === MAX_JSON_DEPTH)
      this.#fail(`the JSON is nested more than ${MAX_JSON_DEPTH} levels deep`);
    this.#frames.push(frame);
    this.#expect = expect;
    this.#at++;
  }

  #close(ifEmpty: 'first key' | 'first element'): void {
    const isObject = this.#frames.at(-1) instanceof Set;
    const matches = this.#frames.length > 0 && isObject === (ifEmpty === 'first key');
    if (!matches || (this.#expect !== 'comma' && this.#expect !== ifEmpty)) this.#unexpected();
    this.#frames.pop();
    this.#at++;
    this.#endValue();
  }

  #comma(): void {
    if (this.#expect !== 'comma') this.#unexpected();
    this.#expect = this.#frames.at(-1) === null ? 'value' : 'key';
    this.#at++;
  }

  #colon(): void {
    if (this.#expect !== 'colon') this.#unexpected();
    this.#expect = 'value';
    this.#at++;
  }

  #scalar(): void {
    this.#beginValue();
    SCALAR.lastIndex = this.#at;
    const word = SCALAR.exec(this.#text)?.[0];
    if (word === undefined) this.#unexpected();
    // JSON.parse turns 1e999 into Infinity, which no client can mean.
    else if (Number(word) === Infinity || Number(word) === -Infinity) this.#fail('a number is out of range');
    else this.#at += word.length;
    this.#endValue();
  }

  #string(): void {
    const start = this.#at;
    const isKey = this.#expect === 'key' || this.#expect === 'first key';
    if (!isKey) this.#beginValue();
    const escaped = this.#skipString();
    if (escaped && SURROGATE_ESCAPE.test(this.#text.slice(start, this.#at))) this.#checkWellFormed(start);
    if (isKey) this.#key(start, escaped);
    else this.#endValue();
  }

  #key(start: number, escaped: boolean): void {
    const key = escaped ? this.#decode(start) : this.#text.slice(start + 1, this.#at - 1);
    if (key === '__proto__') this.#fail('an object has the key __proto__, which is not allowed', start);
    const keys = this.#frames.at(-1);
    if (keys?.has(key)) this.#fail('an object has the same key twice', start);
    keys?.add(key);
    this.#countMember(start);
    this.#expect = 'colon';
  }

  /** Moves behind the closing quote and returns whether there was an escape. Long values are skipped by native search. */
  #skipString(): boolean {
    const text = this.#text;
    const start = this.#at + 1;
    const quote = text.indexOf('"', start);
    if (quote === -1) this.#fail('a string is not closed');
    // Each stretch of text is searched at most once: a search per string would make a body of short strings quadratic.
    if (this.#nextBackslash < start) {
      const found = text.indexOf('\\', start);
      this.#nextBackslash = found === -1 ? text.length : found;
    }
    this.#at = quote + 1;
    if (quote < this.#nextBackslash) return false;
    let at = this.#nextBackslash;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === CODE.backslash) at++;
      else if (code === CODE.quote) break;
    }
    if (at >= text.length) this.#fail('a string is not closed', start - 1);
    this.#at = at + 1;
    return true;
  }

  // Half a surrogate pair has no UTF-8 form: stored, it would silently become another character (RFC 7493, 2.1).
  #checkWellFormed(start: number): void {
    if (!this.#decode(start).isWellFormed()) this.#fail('a string has half of a surrogate pair', start);
  }

  #decode(start: number): string {
    try {
      return String(JSON.parse(this.#text.slice(start, this.#at)));
    } catch {
      return this.#fail('a string has a control character or an invalid escape', start);
    }
  }

  #beginValue(): void {
    if (this.#expect !== 'value' && this.#expect !== 'first element') this.#unexpected();
    if (this.#frames.at(-1) === null) this.#countMember(this.#at);
  }

  #endValue(): void {
    this.#expect = this.#frames.length === 0 ? 'end' : 'comma';
  }

  #countMember(at: number): void {
    this.#members++;
    if (this.#members > this.#membersMax) {
      this.#fail(`the JSON has more than ${this.#membersMax} keys and elements`, at);
    }
  }

  #unexpected(): never {
    return this.#fail(`the JSON is malformed; ${EXPECTED[this.#expect]} is expected`);
  }

  #fail(problem: string, at = this.#at): never {
    throw failure(problem, this.#text, at);
  }
}

function isWhitespace(code: number): boolean {
  return code === CODE.space || code === CODE.lineFeed || code === CODE.carriageReturn || code === CODE.tab;
}

function failure(problem: string, text: string, at: number): JsonError {
  const offset = Buffer.byteLength(text.slice(0, at));
  return new JsonError(`${problem[0]?.toUpperCase()}${problem.slice(1)} (byte ${offset}).`);
}
