/** The bits of information of one character, estimated from how often each occurs in the text itself. */
export function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const letter of text) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/** How many of these four a text has: lower case, upper case, digits, others. */
export function classesOf(text: string): number {
  return [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].filter((one) => one.test(text)).length;
}

/** Letters of both cases and digits, in no order. */
export function isMixed(text: string): boolean {
  return /[a-z]/.test(text) && /[A-Z]/.test(text) && /\d/.test(text) && entropyOf(text) >= 4.2;
}

/** Paths, names in camel case and slugs have letters in runs of one case, with few changes between letters and digits. */
export function isMadeOfWords(text: string): boolean {
  const words = text.match(/[A-Z]?[a-z]{3,}|[A-Z]{3,}(?![a-z])/g) ?? [];
  return words.reduce((sum, word) => sum + word.length, 0) >= text.length * 0.6;
}

const DUMMY_WORDS =
  /change[-_ ]?(?:me|it|this)|placeholder|example|sample|dummy|redacted|fake|your[-_ ]?|my[-_]?(?:password|secret|token|key)|not[-_ ]?a[-_ ]?(?:real|secret)|insert[-_ ]|replace[-_ ]|x{6,}|\*{3,}|\.{3,}|0{8,}|(?:0?123456789|abcdefgh)|^(?:-{3,}|_{3,}|x{3,}|pass(?:w(?:or)?d)?\d{0,3}|pwd|secret\d{0,3}|token|test(?:ing)?\d{0,3}|guest|admin|root|user(?:name)?|postgres|hunter2|xyz|abc(?:123)?|12345678?|string|text|value|null|none|nil|true|false|undefined|required|optional|hidden|masked|todo|tbd|n\/a|foo(?:bar)?|bar|baz|default|unknown)$/i;
const REFERENCE =
  /^(?:\$\{|\$[A-Za-z_(]|\{\{|\{[A-Za-z_]|<|%[A-Za-z_]+%|%\(|\[[A-Z_]+\]|@[A-Za-z.]+$|!(?:Ref|Sub|GetAtt|Secret|vault)\b|\.{0,2}\/|~\/)|^(?:coffer:\/\/|vault:|arn:|op:\/\/|ref\+|file:|env:|projects\/|process\.env|os\.(?:environ|getenv)|ENV\[|env\(|getenv|System\.|secrets\.|config\.|vars?\.|self\.|this\.|req\.|ctx\.|params?\.|await\b|new\b|function\b)|\$\{\{?|\{\{|<%/;

const isOneLetter = (value: string) => value !== '' && value === value.charAt(0).repeat(value.length);

/** Text that stands for a value, as documentation and code write it: `changeme`, `${TOKEN}`, `<password>`, `vault:…`. */
export function isDummy(value: string): boolean {
  return DUMMY_WORDS.test(value) || REFERENCE.test(value) || isOneLetter(value);
}

/** Ids, names, addresses, versions, times and digests that stand beside such names without being a secret. */
export function isIdentifier(value: string): boolean {
  return IDENTIFIERS.some((form) => form.test(value));
}

const IDENTIFIERS: readonly RegExp[] = [
  /^[a-z]+(?:[-_./:][a-z0-9]{1,12}){0,12}$/,
  /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/,
  /^(?:vault|sec|req|anom|host|tenant|user|group|policy|token|audit|approval|exporter|webhook|delivery|cluster|acct|apath|lease)_[0-9a-z]{20,32}$/i,
  /^(?:https?|ssh|git|s3|gs):\/\/[^@]*$/,
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+Z?)?$/,
  /^v?\d+(?:\.\d+){1,12}(?:[-+][\w.]+)?$/,
  /^(?:sha(?:1|256|384|512)[-:]|SHA256:|ssh-|ecdsa-|AAAA[BCE])/,
  /^[\w.+-]+@[\w-]+\.[\w.-]+$/,
  /^\d+$/,
  /^[A-Z][a-z]*(?:-[A-Z][a-z]+)+$/,
  /^[A-Za-z_$]+\d{0,3}(?:\??\.[A-Za-z_$]+\d{0,3})+$/,
  /^[A-Za-z]?[a-z]+(?:[A-Z][a-z]+){1,8}\d?$/,
  /^[\w./-]+\.(?:pem|key|crt|json|ya?ml|txt|env|ts|js|py|go|md|conf|toml|html|css|png|svg)$/,
];

/** A call, an index, an operator or a template instead of a literal. */
export function isCode(value: string): boolean {
  return CODE.some((form) => form.test(value));
}

const CODE: readonly RegExp[] = [
  /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*(?:\(|\[|\?\.|\s+[+|&]{1,2})/,
  /%[sdv]|\{\d?\}|=>/,
  // A pattern, or data that has names of its own.
  /^\^|^\(\?|^[[{]["']?|\[\^/,
];
