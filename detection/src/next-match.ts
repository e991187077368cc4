/**
 * The next match of a pattern after rising positions. A match that is still ahead is not searched for again, so that all searches together read the
 * text once: a pattern from a beginning to its end would read on from every beginning.
 */
export class NextMatch {
  readonly #text: string;
  readonly #pattern: RegExp;
  #next: RegExpExecArray | null | undefined;

  /** The pattern has the flag `g`. */
  constructor(text: string, pattern: RegExp) {
    this.#text = text;
    this.#pattern = new RegExp(pattern);
  }

  from(position: number): RegExpExecArray | null {
    if (this.#next === undefined || (this.#next !== null && this.#next.index < position)) {
      this.#pattern.lastIndex = position;
      this.#next = this.#pattern.exec(this.#text);
    }
    return this.#next;
  }
}
