/** How well a text fits what was typed: the smaller, the better. */
const EXACT = 0;
const BEGINNING = 1;
const WORD_BEGINNING = 2;
const INSIDE = 3;
const ABBREVIATED = 4;
const NONE = Number.POSITIVE_INFINITY;

const SEPARATOR = /[^a-z0-9]/;

/** How a word fits a text, both in lower case. An abbreviation has its first letter at the start of a word of the text. */
function rankOf(word: string, text: string): number {
  const at = text.indexOf(word);
  if (at === 0) return text.length === word.length ? EXACT : BEGINNING;
  for (let found = at; found > 0; found = text.indexOf(word, found + 1)) {
    if (SEPARATOR.test(text.charAt(found - 1))) return WORD_BEGINNING;
  }
  if (at > 0) return INSIDE;
  return isAbbreviation(word, text) ? ABBREVIATED : NONE;
}

/** Whether the letters stand in the text in this order. The earliest start of a word leaves the most room for the others. */
function isAbbreviation(word: string, text: string): boolean {
  let at = 0;
  while (at < text.length && (text[at] !== word[0] || (at > 0 && !SEPARATOR.test(text.charAt(at - 1))))) at++;
  if (at === text.length) return false;
  for (const letter of word.slice(1)) {
    at = text.indexOf(letter, at + 1);
    if (at < 0) return false;
  }
  return true;
}

export interface Searched {
  /** Where words are looked for, in lower case; the text that a word fits best counts. */
  readonly searched: readonly string[];
}

/** What every word fits, the best first. What fits alike stays in its order. */
export function bestMatches<T extends Searched>(all: readonly T[], words: readonly string[]): T[] {
  const ranked: { each: T; rank: number }[] = [];
  for (const each of all) {
    let rank = 0;
    for (const word of words) rank += Math.min(...each.searched.map((text) => rankOf(word, text)));
    if (rank < NONE) ranked.push({ each, rank });
  }
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ each }) => each);
}
