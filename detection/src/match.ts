export type SecretKind = 'private_key' | 'secret' | 'token' | 'password';

/** How sure a rule is. A value that is only `possible` is as ordinary as most values beside such a name. */
export const CONFIDENCES = ['possible', 'low', 'medium', 'high'] as const;
export type Confidence = (typeof CONFIDENCES)[number];

/** A part of a text that looks like a secret, or like something else that a caller has rules for. */
export interface Match<Kind extends string = SecretKind> {
  readonly start: number;
  readonly end: number;
  readonly kind: Kind;
  /** Which rule found it. It is shown to callers, so it says nothing about the value. */
  readonly rule: string;
  readonly confidence: Confidence;
}

export function isAtLeast(confidence: Confidence, least: Confidence): boolean {
  return CONFIDENCES.indexOf(confidence) >= CONFIDENCES.indexOf(least);
}

/** Rules that say how a value is used, and not what it is. Others that cover the same text win. */
const GENERAL: Readonly<Record<string, number>> = {
  'password-in-url': 1,
  'authorization-header': 1,
  'signature-in-url': 1,
  'password-of-command': 1,
  password: 1,
  'secret-value': 2,
  'random-text': 3,
};

const weightOf = ({ rule, confidence }: Match) =>
  (GENERAL[rule] ?? 0) + 10 * (CONFIDENCES.length - CONFIDENCES.indexOf(confidence));

/** In their order, and of those that overlap the one that says most. */
export function withoutOverlaps(matches: readonly Match[]): Match[] {
  const separate: Match[] = [];
  for (const match of matches.toSorted((a, b) => a.start - b.start || weightOf(a) - weightOf(b))) {
    const last = separate.at(-1);
    if (last === undefined || match.start >= last.end) separate.push(match);
    else if (weightOf(match) < weightOf(last)) separate[separate.length - 1] = match;
  }
  return separate;
}
