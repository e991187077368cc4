/** How one kind of quotation mark works. */
export interface Quoting {
  readonly quote: string;
  /** Whether a backslash takes the next character out of consideration. */
  readonly isEscaping: boolean;
  readonly isOneLine: boolean;
}

export interface QuotedRun {
  /** Of the opening mark, and after the closing one. */
  readonly start: number;
  readonly end: number;
}

/**
 * Texts in quotation marks, of so many characters. Written out, because a pattern looks for the closing mark again from every opening one: here the
 * end of a text that began is noted. A mark before that end is escaped, so that a text which begins there has the same end.
 */
export function* quotedRuns(
  text: string,
  quotings: readonly Quoting[],
  { min, max }: { min: number; max: number },
): Generator<QuotedRun> {
  const ends = new Map<Quoting, { at: number; isClosed: boolean }>();
  const byQuote = new Map(quotings.map((quoting) => [quoting.quote, quoting]));
  for (let start = 0; start < text.length; start++) {
    const quoting = byQuote.get(text.charAt(start));
    if (quoting === undefined) continue;
    let end = ends.get(quoting);
    if (end === undefined || end.at <= start) {
      end = endOf(text, start + 1, quoting);
      ends.set(quoting, end);
    }
    const length = end.at - start - 1;
    if (!end.isClosed || length < min || length > max) continue;
    yield { start, end: end.at + 1 };
    start = end.at;
  }
}

function endOf(
  text: string,
  from: number,
  { quote, isEscaping, isOneLine }: Quoting,
): { at: number; isClosed: boolean } {
  for (let at = from; at < text.length; at++) {
    const letter = text.charAt(at);
    if (letter === quote) return { at, isClosed: true };
    if (isOneLine && letter === '\n') return { at, isClosed: false };
    if (isEscaping && letter === '\\') at++;
  }
  return { at: text.length, isClosed: false };
}
