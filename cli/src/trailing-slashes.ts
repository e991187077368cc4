/** Written out, because a pattern that ends with the text is searched for again from each slash. */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length;
  while (text.charAt(end - 1) === '/') end--;
  return text.slice(0, end);
}
