import type { Redaction } from './redaction.ts';

/** The end of what has arrived is held back by this much, since a secret may go on in the next part. */
const HELD_BACK = 256;
/** What was released is still read with what follows it: the name of a password may stand before its value. */
const CONTEXT = 512;
const BLANK_LINE = /\n[^\S\n]*\n/g;
const FENCE = /```/g;
const KEY_BEGIN = /-{2,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/g;
const KEY_END = /-{2,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY/;

/**
 * Masks a text that arrives in parts. A part is released when nothing that follows could make it part of a secret: at the end of a paragraph, some
 * distance before the end, and never inside of what is masked, of a code block, or of a private key that has not ended. A stored value may have many
 * lines, and is known only as a whole. The caller bounds the length of the text.
 */
export class RedactedStream {
  readonly #redaction: Redaction;
  /** Released text that stays as context, then text that is not released yet. */
  #text = '';
  #released = 0;
  /** How long the text must be before it is worth scanning again. */
  #scannedFrom = 2 * HELD_BACK;

  constructor(redaction: Redaction) {
    this.#redaction = redaction;
  }

  /** Returns what can be released; often nothing. */
  async push(part: string): Promise<string> {
    this.#text += part;
    return this.#text.length < this.#scannedFrom ? '' : this.#release(false);
  }

  /** What can be released of a text that is cut off here. The rest might be part of a secret. */
  cut(): Promise<string> {
    return this.#release(false);
  }

  /** The rest, once the text is complete. */
  end(): Promise<string> {
    return this.#release(true);
  }

  async #release(isLast: boolean): Promise<string> {
    let cut = isLast ? this.#text.length : this.#safeCut();
    const findings = cut <= this.#released ? [] : await this.#redaction.find(this.#text);
    for (const { start, end } of findings.toReversed()) if (start < cut && end > cut) cut = start;
    if (cut <= this.#released) {
      this.#waitForMore();
      return '';
    }
    const from = this.#released;
    const shown = findings
      .filter(({ start, end }) => start < cut && end > from)
      .map((one) => ({ ...one, start: Math.max(one.start, from) - from, end: one.end - from }));
    const masked = this.#redaction.replace(this.#text.slice(from, cut), shown);
    const contextStart = Math.max(0, cut - CONTEXT);
    this.#text = this.#text.slice(contextStart);
    this.#released = cut - contextStart;
    this.#waitForMore();
    return masked;
  }

  /** A provider may send one character at a time. What is held back grows by a share before it is scanned again, so all scans take linear time. */
  #waitForMore(): void {
    const held = this.#text.length - this.#released;
    this.#scannedFrom = this.#text.length + Math.max(HELD_BACK, Math.ceil(held / 2));
  }

  /** The end of a paragraph, far enough from the end, outside of a code block and before a private key that has not ended. */
  #safeCut(): number {
    let limit = this.#text.length - HELD_BACK;
    const begin = [...this.#text.matchAll(KEY_BEGIN)].at(-1);
    if (begin !== undefined && !KEY_END.test(this.#text.slice(begin.index))) limit = Math.min(limit, begin.index);
    const fences = [...this.#text.matchAll(FENCE)].map(({ index }) => index).filter((at) => at >= this.#released);
    let cut = this.#released;
    let passed = 0;
    for (const { index, 0: blank } of this.#text.matchAll(BLANK_LINE)) {
      const end = index + blank.length;
      if (end > limit) break;
      while (passed < fences.length && (fences[passed] ?? 0) < end) passed++;
      if (end > cut && passed % 2 === 0) cut = end;
    }
    return cut;
  }
}
