/**
 * Names and messages come from other people, and a terminal obeys control characters: nothing but a line break and a tab gets through. So do marks
 * that reverse the direction of text, which can make one name look like another.
 */
export function printable(text: string): string {
  return text.replace(OBEYED, (char) => (isPlain(char) ? char : '\uFFFD'));
}

/** The same characters as JSON escapes them, for values, where none may be lost. */
export function escaped(text: string): string {
  return text.replace(OBEYED, (char) => (isPlain(char) ? char : inUnits(char)));
}

const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function isPlain(char: string): boolean {
  return char === '\n' || char === '\t';
}

function inUnits(char: string): string {
  return char
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
