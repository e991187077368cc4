/** The entries of a text that is separated by commas. */
export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean);
}
