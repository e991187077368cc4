/** What is masked, by kind. The name is that of the placeholder; a kind earlier in the list wins where two findings overlap. */
export const KINDS = [
  'private_key',
  'secret',
  'token',
  'password',
  'card',
  'iban',
  'personal_id',
  'email',
  'phone',
  'internal_address',
  'internal_host',
] as const;
export type Kind = (typeof KINDS)[number];

/** Kinds that grant access to something. The others are personal data and facts about a network. */
export const CREDENTIAL_KINDS: ReadonlySet<Kind> = new Set(['private_key', 'secret', 'token', 'password']);

/** A part of a text that must not leave. */
export interface Finding {
  readonly start: number;
  readonly end: number;
  readonly kind: Kind;
  /** Which rule found it. It is shown to callers, so it says nothing about the value. */
  readonly rule: string;
}

/** Findings in their order, without overlaps: those that overlap become one, with the kind that wins. */
export function merged(findings: readonly Finding[]): Finding[] {
  const sorted = findings.toSorted((a, b) => a.start - b.start || b.end - a.end);
  const result: Finding[] = [];
  for (const finding of sorted) {
    const last = result.at(-1);
    if (last === undefined || finding.start >= last.end) {
      result.push(finding);
      continue;
    }
    const winner = KINDS.indexOf(finding.kind) < KINDS.indexOf(last.kind) ? finding : last;
    const { kind, rule } = winner;
    result[result.length - 1] = { start: last.start, end: Math.max(last.end, finding.end), kind, rule };
  }
  return result;
}
