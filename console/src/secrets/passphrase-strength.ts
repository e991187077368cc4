/** The client library refuses shorter ones. */
export const LENGTH_MIN = 12;

export type Strength = 'none' | 'short' | 'weak' | 'fair' | 'strong';

const FAIR_BITS = 50;
const STRONG_BITS = 70;
/** A list from which people draw a word has some 8,000. */
const BITS_OF_WORD = 13;
const CLASSES: readonly [RegExp, number][] = [
  [/[a-z]/, 26],
  [/[A-Z]/, 26],
  [/\d/, 10],
  [/[^A-Za-z0-9]/, 32],
];

/** A rough estimate for the person who types: repetitions and sequences count little, and a word counts as one choice. */
export function strengthOf(passphrase: string): Strength {
  if (passphrase === '') return 'none';
  if ([...passphrase].length < LENGTH_MIN) return 'short';
  const bits = Math.min(bitsOfCharacters(passphrase), bitsOfTerms(passphrase));
  if (bits < FAIR_BITS) return 'weak';
  return bits < STRONG_BITS ? 'fair' : 'strong';
}

function bitsOfCharacters(text: string): number {
  const size = CLASSES.reduce((sum, [pattern, count]) => sum + (pattern.test(text) ? count : 0), 0);
  return countUnexpected(text) * Math.log2(size);
}

/** Characters that do not just repeat or continue the one before. */
function countUnexpected(text: string): number {
  const codes = [...text].map((character) => character.codePointAt(0) ?? 0);
  return codes.filter((code, at) => at === 0 || Math.abs(code - (codes[at - 1] ?? 0)) > 1).length;
}

function bitsOfTerms(text: string): number {
  const terms = text.split(/[^A-Za-z]+/).filter((word) => word.length > 2);
  const others = text.replaceAll(/[A-Za-z]{3,}|\s/g, '');
  const isTerms = terms.length > 1 && terms.every((word) => /^[A-Z]?[a-z]+$|^[A-Z]+$/.test(word));
  if (!isTerms) return Infinity;
  return new Set(terms.map((word) => word.toLowerCase())).size * BITS_OF_WORD + countUnexpected(others) * 3;
}
