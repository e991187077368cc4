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

/** How many of these four a text has: lower case, upper case, digits, others. */
export function classesOf(text: string): number {
  return [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].filter((one) => one.test(text)).length;
}

const DUMMY_WORDS =
  /change[-_ ]?me|change[-_ ]?it|placeholder|example|sample|dummy|redacted|your[-_ ]|my[-_]?(?:password|secret|token|key)|not[-_ ]?a[-_ ]?(?:real|secret)|insert[-_ ]|replace[-_ ]|^(?:x{3,}|\*{3,}|\.{3,}|-{3,}|_{3,}|password\d{0,3}|passwd|secret|token|test|string|str|text|value|null|none|nil|true|false|undefined|required|optional|hidden|masked|todo|tbd|n\/a|foo(?:bar)?|bar|baz|default)$/i;
const REFERENCE =
  /^(?:\$\{[^}]*(?:\}\S*)?|\$[A-Za-z_]\w*(?:[/.:][\w./:-]*)?|\$\(.*|\{\{.*|<[^>]*>?|%[A-Za-z_]+%|\[?[A-Z_]+_\d{1,6}\]?|\[[A-Z_]+\]|@[A-Za-z.]+|!(?:Ref|Sub|GetAtt|Secret|vault)\b.*|\.{0,2}\/[\w./-]*)$|^(?:coffer:\/\/|vault:|arn:|op:\/\/|process\.env|os\.(?:environ|getenv)|ENV\[|env\(|getenv|System\.|secrets\.|config\.|vars?\.|self\.|this\.|req\.|ctx\.|params?\.|await\b|new\b|function\b|null\b)/;

const isOneLetter = (value: string) => value !== '' && value === value.charAt(0).repeat(value.length);

/** Text that stands for a value, as documentation and code write it: `changeme`, `${TOKEN}`, `<password>`, a placeholder of ours. */
export function isDummy(value: string): boolean {
  return DUMMY_WORDS.test(value) || REFERENCE.test(value) || isOneLetter(value);
}
