/** What a text must be, by the pattern that its schema has: no person reads a regular expression in an error. */
const reasons = new Map<string, string>();

/** Returns the pattern. A text that does not match it is refused with this reason. */
export function explainedPattern(pattern: string, reason: string): string {
  reasons.set(pattern, reason);
  return pattern;
}

export function reasonOfPattern(pattern: unknown): string | undefined {
  return typeof pattern === 'string' ? reasons.get(pattern) : undefined;
}
