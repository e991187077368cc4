/**
 * Names and messages come from other people, and a terminal obeys control characters: nothing but a line break and a tab gets through. So do marks
 * that reverse the direction of text, which can make one name look like another.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => (char === '\n' || char === '\t' ? char : '\uFFFD'));
}
