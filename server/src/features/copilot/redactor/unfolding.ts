import { type Quoting, quotedRuns } from './quoted-runs.ts';
/** A text with an encoding removed. Its character `i` stands for the part from `starts[i]` to `ends[i]` of the text that it was made from. */
export interface Unfolded {
  readonly text: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

class Builder {
  readonly #parts: string[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** A part that stands in the text as it is. */
  copy(text: string, start: number): void {
    this.#parts.push(text);
    for (let at = start; at < start + text.length; at++) {
      this.#starts.push(at);
      this.#ends.push(at + 1);
    }
  }

  /** What an encoded part stands for. */
  decode(text: string, start: number, end: number): void {
    this.#parts.push(text);
    for (let at = 0; at < text.length; at++) {
      this.#starts.push(start);
      this.#ends.push(end);
    }
  }

  built(): Unfolded {
    return { text: this.#parts.join(''), starts: this.#starts, ends: this.#ends };
  }
}

/** Replaces what the form matches by what it stands for; null if it matches nothing. */
function replaced(text: string, form: RegExp, meaning: (match: RegExpExecArray) => string | null): Unfolded | null {
  const builder = new Builder();
  let after = 0;
  let isChanged = false;
  for (const match of text.matchAll(form)) {
    const stands = meaning(match);
    if (stands === null) continue;
    isChanged = true;
    builder.copy(text.slice(after, match.index), after);
    after = match.index + match[0].length;
    builder.decode(stands, match.index, after);
  }
  if (!isChanged) return null;
  builder.copy(text.slice(after), after);
  return builder.built();
}

// biome-ignore lint/suspicious/noMisleadingCharacterClass: variation selectors are matched one by one
const INVISIBLE = /[\u00ad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]|[\uff01-\uff5e]/g;

/** Characters that cannot be seen split a word for a pattern but not for a reader; full-width ones spell the same word. */
export function withoutInvisible(text: string): Unfolded | null {
  return replaced(text, INVISIBLE, ([letter]) =>
    letter >= '\uff01' && letter <= '\uff5e' ? String.fromCharCode(letter.charCodeAt(0) - 0xfee0) : '',
  );
}

const ESCAPE =
  /\\u\{?([0-9a-fA-F]{4,6})\}?|\\x([0-9a-fA-F]{2})|\\(["'/\\nrt])|&#(\d{2,6});|&#x([0-9a-fA-F]{2,5});|&(amp|lt|gt|quot|apos|commat);/g;
const SIMPLE: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  commat: '@',
};

/** Escapes of JSON, of programming languages and of HTML. */
export function unescaped(text: string): Unfolded | null {
  if (!/[\\&]/.test(text)) return null;
  return replaced(text, ESCAPE, ([, unicode, hex, simple, decimal, htmlHex, entity]) => {
    const code = unicode ?? hex ?? htmlHex;
    if (code !== undefined) return letterOf(Number.parseInt(code, 16));
    if (decimal !== undefined) return letterOf(Number(decimal));
    const name = simple ?? entity ?? '';
    return SIMPLE[name] ?? name;
  });
}

function letterOf(code: number): string | null {
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : null;
}

/** Percent-encoding, one run of encoded bytes at a time, because a letter may take several. */
export function percentDecoded(text: string): Unfolded | null {
  if (!text.includes('%')) return null;
  return replaced(text, /(?:%[0-9A-Fa-f]{2})+/g, ([run]) => {
    try {
      return decodeURIComponent(run);
    } catch {
      return null;
    }
  });
}

const LITERALS: readonly Quoting[] = ['"', "'", '`'].map((quote) => ({
  quote,
  isEscaping: true,
  isOneLine: quote !== '`',
}));
const LITERAL_LENGTH_MAX = 1024;
/** What joins two literals: an operator of some language, a line end that a backslash continues, nothing at all in C and Python. */
const JOINT = /^[\s\\]{0,40}(?:\+|\.\.?|&|\|\||<>|~|\\)?[\s\\]{0,40}(?:[fbru]{0,2}|string\()?$/;
const COMMA = /^\s{0,20},\s{0,20}$/;
const JOINT_LENGTH_MAX = 84;
/** What makes one text of a list. */
const LIST_BEFORE = /(?:concat|concat_ws|paste0|strcat|implode|join)\s?\(\s?(?:(?:""|''),\s?)?\[?\s{0,20}$/i;
const LIST_AFTER = /^\s{0,20},?\s{0,20}\]\s{0,20}\.(?:join|concat)\(/;

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Literals that stand beside each other, joined by an operator or listed to be joined. */
function literalGroups(text: string): Span[][] {
  const literals = [...quotedRuns(text, LITERALS, { min: 0, max: LITERAL_LENGTH_MAX })];
  const groups: Span[][] = [];
  for (const joint of [JOINT, COMMA]) {
    let group: Span[] = [];
    const close = () => {
      const [first, last] = [group[0], group.at(-1)];
      if (group.length > 1 && first && last && (joint === JOINT || isJoinedList(text, first, last))) groups.push(group);
      group = [];
    };
    for (const literal of literals) {
      const before = group.at(-1);
      const between = before === undefined ? null : text.slice(before.end, literal.start);
      if (between !== null && !(between.length <= JOINT_LENGTH_MAX && joint.test(between))) close();
      group.push(literal);
    }
    close();
  }
  return groups;
}

function isJoinedList(text: string, first: Span, last: Span): boolean {
  return (
    LIST_BEFORE.test(text.slice(Math.max(0, first.start - 60), first.start)) ||
    LIST_AFTER.test(text.slice(last.end, last.end + 60))
  );
}

/** Writes literals that are put together as one literal, and removes line ends that a backslash continues. */
export function joined(text: string): Unfolded | null {
  const cuts: Span[] = literalGroups(text).flatMap((group) =>
    // The closing quote of a literal is left out, together with what joins it to the next one and the opening quote of that.
    group.slice(1).map((literal, at) => ({ start: (group[at]?.end ?? 0) - 1, end: literal.start + 1 })),
  );
  for (const match of text.matchAll(/\\\r?\n[ \t]{0,40}/g))
    cuts.push({ start: match.index, end: match.index + match[0].length });
  if (cuts.length === 0) return null;
  const builder = new Builder();
  let after = 0;
  for (const { start, end } of cuts.toSorted((a, b) => a.start - b.start)) {
    if (start < after) continue;
    builder.copy(text.slice(after, start), after);
    after = end;
  }
  builder.copy(text.slice(after), after);
  return builder.built();
}

/** Where a part of the unfolded text stands in the text it was made from. */
export function originOf({ starts, ends }: Unfolded, start: number, end: number): { start: number; end: number } {
  return { start: starts[start] ?? 0, end: ends[end - 1] ?? 0 };
}

const BASE64 = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}={0,2}/g;
const BASE64_LINE = /[A-Za-z0-9+/]{60,80}\r?\n[ \t]{0,16}/y;
const BASE64_LAST_LINE = /[A-Za-z0-9+/]{1,80}={0,2}(?![A-Za-z0-9+/_=-])/y;
const GOES_ON = /[A-Za-z0-9+/_=-]/;
const HEXADECIMAL = /(?<![A-Za-z0-9])(?:0x)?(?<digits>(?:[0-9a-fA-F]{2}){12,})(?![A-Za-z0-9])/g;

export interface EncodedRun {
  readonly start: number;
  readonly end: number;
  readonly bytes: Buffer;
}

/** Lines of base64 as files have them, or one run of it. Walked line by line, because a pattern would begin anew at each of many lines. */
function* base64Runs(text: string): Generator<{ start: number; end: number }> {
  let walkedTo = 0;
  for (const { 0: run, index: start } of text.matchAll(BASE64)) {
    if (start < walkedTo) continue;
    const isWhole = !GOES_ON.test(text.charAt(start + run.length));
    const end = endOfBase64Lines(text, start) ?? (isWhole ? start + run.length : null);
    if (end === null) continue;
    yield { start, end };
    walkedTo = end;
  }
}

function endOfBase64Lines(text: string, start: number): number | null {
  let [at, count, end] = [start, 0, start];
  for (;;) {
    BASE64_LINE.lastIndex = at;
    const line = BASE64_LINE.exec(text);
    if (line === null) break;
    end = at + line[0].trimEnd().length;
    at += line[0].length;
    count++;
  }
  BASE64_LAST_LINE.lastIndex = at;
  const last = count === 0 ? null : BASE64_LAST_LINE.exec(text);
  if (last !== null) return at + last[0].length;
  // The last of the whole lines ends it.
  return count > 1 ? end : null;
}

/** Whatever may be bytes in base64 or hexadecimal. */
export function encodedRuns(text: string): EncodedRun[] {
  const runs: EncodedRun[] = [];
  for (const { start, end } of base64Runs(text)) {
    runs.push({ start, end, bytes: Buffer.from(text.slice(start, end).replace(/\s/g, ''), 'base64') });
  }
  for (const { 0: run, index, groups } of text.matchAll(HEXADECIMAL))
    runs.push({ start: index, end: index + run.length, bytes: Buffer.from(groups?.['digits'] ?? '', 'hex') });
  return runs;
}

export interface Decoded {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Words that are base64 or hexadecimal of readable text. */
export function decodedWords(text: string): Decoded[] {
  return encodedRuns(text).flatMap(({ start, end, bytes }) => {
    const plain = readable(bytes);
    return plain === null ? [] : [{ start, end, text: plain }];
  });
}

const READABLE_BYTES_MIN = 6;
const UTF8 = new TextDecoder('utf-8', { fatal: true });
const UTF16LE = new TextDecoder('utf-16le', { fatal: true });
const UTF16BE = new TextDecoder('utf-16be', { fatal: true });
// biome-ignore lint/suspicious/noControlCharactersInRegex: bytes with control characters are no text
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

function readable(bytes: Buffer): string | null {
  if (bytes.length < READABLE_BYTES_MIN) return null;
  const text = decoded(UTF8, bytes);
  if (text !== null) return text;
  // Text of Windows, as in the commands of PowerShell. A zero in every other byte tells it from other bytes.
  if (bytes.length % 2 !== 0) return null;
  const zeros = [0, 0];
  for (const [at, byte] of bytes.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [first = 0, second = 0] = zeros;
  if (Math.max(first, second) < bytes.length / 4) return null;
  return decoded(second > first ? UTF16LE : UTF16BE, bytes);
}

function decoded(decoder: TextDecoder, bytes: Buffer): string | null {
  try {
    const text = decoder.decode(bytes);
    return CONTROL.test(text) ? null : text;
  } catch {
    return null;
  }
}
