/** Where the signs at the end of a text begin; its length if it has none. A pattern such as /[.]+$/ takes quadratic time. */
export function startOfTrailing(text: string, signs: string): number {
  let end = text.length;
  while (end > 0 && signs.includes(text.charAt(end - 1))) end--;
  return end;
}
