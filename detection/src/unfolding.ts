import { type Quoting, quotedRuns } from './quoted-runs.ts';

/** A text with an encoding removed, and which part of the text that it was made from each part stands for. */
export interface Unfolded {
  readonly text: string;
  /** Where each part begins in the unfolded text. */
  readonly parts: readonly Part[];
}

interface Part {
  readonly at: number;
  readonly start: number;
  readonly end: number;
  /** Whether each character stands for itself. Otherwise all of them stand for the whole part. */
  readonly isCopy: boolean;
}

class Builder {
  readonly #texts: string[] = [];
  readonly #parts: Part[] = [];
  #length = 0;

  /** A part that stands in the text as it is. */
  copy(text: string, start: number): void {
    this.#add(text, { at: this.#length, start, end: start + text.length, isCopy: true });
  }

  /** What an encoded part stands for. */
  decode(text: string, start: number, end: number): void {
    this.#add(text, { at: this.#length, start, end, isCopy: false });
  }

  #add(text: string, part: Part): void {
    if (text === '') return;
    this.#texts.push(text);
    this.#parts.push(part);
    this.#length += text.length;
  }

  built(): Unfolded {
    return { text: this.#texts.join(''), parts: this.#parts };
  }
}

/** Where a part of the unfolded text stands in the text that it was made from. */
export function originOf({ parts }: Unfolded, start: number, end: number): { start: number; end: number } {
  const [first, last] = [partAt(parts, start), partAt(parts, end - 1)];
  return {
    start: first.isCopy ? first.start + start - first.at : first.start,
    end: last.isCopy ? last.start + end - last.at : last.end,
  };
}

const NO_PART: Part = { at: 0, start: 0, end: 0, isCopy: true };

function partAt(parts: readonly Part[], position: number): Part {
  let [low, high] = [0, parts.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((parts[middle]?.at ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return parts[low - 1] ?? NO_PART;
}

/** Reads a text with an encoding removed; null if the text has none of it. What is further away than this from it is left out. */
export type Unfold = (text: string, reach?: number) => Unfolded | null;

/** Replaces what the form matches by what it stands for; null if it matches nothing. */
function replaced(
  text: string,
  form: RegExp,
  meaning: (match: RegExpExecArray) => string | null,
  reach: number,
): Unfolded | null {
  const builder = new Builder();
  let after = -1;
  for (const match of text.matchAll(form)) {
    const stands = meaning(match);
    if (stands === null) continue;
    copyGap(builder, text, { from: after, to: match.index, reach });
    after = match.index + match[0].length;
    builder.decode(stands, match.index, after);
  }
  if (after === -1) return null;
  builder.copy(text.slice(after, Math.min(text.length, after + reach)), after);
  return builder.built();
}

/** Copies what stands between two encoded parts, without what is far from both. The first part is at -1. */
function copyGap(
  builder: Builder,
  text: string,
  { from, to, reach }: { from: number; to: number; reach: number },
): void {
  const start = Math.max(0, from);
  if (to - start <= 2 * reach) {
    builder.copy(text.slice(start, to), start);
    return;
  }
  if (from >= 0) builder.copy(text.slice(start, start + reach), start);
  builder.decode('\n', start + reach, start + reach);
  builder.copy(text.slice(to - reach, to), to - reach);
}

// biome-ignore lint/suspicious/noMisleadingCharacterClass: variation selectors are matched one by one
const INVISIBLE = /[\u00ad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]|[\uff01-\uff5e]/g;

/** Characters that cannot be seen split a word for a pattern but not for a reader; full-width ones spell the same word. */
export function withoutInvisible(text: string, reach = Number.POSITIVE_INFINITY): Unfolded | null {
  return replaced(
    text,
    INVISIBLE,
    ([letter]) => (letter >= '\uff01' && letter <= '\uff5e' ? String.fromCharCode(letter.charCodeAt(0) - 0xfee0) : ''),
    reach,
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
export function unescaped(text: string, reach = Number.POSITIVE_INFINITY): Unfolded | null {
  return text.includes('\\') || text.includes('&') ? replaced(text, ESCAPE, unescapedPart, reach) : null;
}

/** Escapes that hide what is written. Most of the others are ends of lines and quotes, of which code is full. */
const NUMERIC = /\\u\{?[0-9a-fA-F]{4,6}\}?|\\x[0-9a-fA-F]{2}|&#\d{2,6};|&#x[0-9a-fA-F]{2,5};/g;
const ONE_ESCAPE = new RegExp(`^(?:${ESCAPE.source})$`);

/** Only escapes by the number of a character. */
export function withoutNumericEscapes(text: string, reach = Number.POSITIVE_INFINITY): Unfolded | null {
  if (!text.includes('\\u') && !text.includes('\\x') && !text.includes('&#')) return null;
  return replaced(
    text,
    NUMERIC,
    ([escaped]) => {
      const match = ONE_ESCAPE.exec(escaped);
      return match === null ? null : unescapedPart(match);
    },
    reach,
  );
}

function unescapedPart([, unicode, hex, simple, decimal, htmlHex, entity]: RegExpExecArray): string | null {
  const code = unicode ?? hex ?? htmlHex;
  if (code !== undefined) return letterOf(Number.parseInt(code, 16));
  if (decimal !== undefined) return letterOf(Number(decimal));
  const name = simple ?? entity ?? '';
  return SIMPLE[name] ?? name;
}

function letterOf(code: number): string | null {
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : null;
}

/** Percent-encoding, one run of encoded bytes at a time, because a letter may take several. */
export function percentDecoded(text: string, reach = Number.POSITIVE_INFINITY): Unfolded | null {
  if (!text.includes('%')) return null;
  return replaced(
    text,
    /(?:%[0-9A-Fa-f]{2})+/g,
    ([run]) => {
      try {
        return decodeURIComponent(run);
      } catch {
        return null;
      }
    },
    reach,
  );
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
export function joined(text: string, reach = Number.POSITIVE_INFINITY): Unfolded | null {
  const cuts: Span[] = literalGroups(text).flatMap((group) =>
    // The closing quote of a literal is left out, together with what joins it to the next one and the opening quote of that.
    group.slice(1).map((literal, at) => ({ start: (group[at]?.end ?? 0) - 1, end: literal.start + 1 })),
  );
  for (const match of text.matchAll(/\\\r?\n[ \t]{0,40}/g))
    cuts.push({ start: match.index, end: match.index + match[0].length });
  if (cuts.length === 0) return null;
  const builder = new Builder();
  let after = -1;
  for (const { start, end } of cuts.toSorted((a, b) => a.start - b.start)) {
    if (start < after) continue;
    copyGap(builder, text, { from: after, to: start, reach });
    after = end;
  }
  builder.copy(text.slice(after, Math.min(text.length, after + reach)), after);
  return builder.built();
}
