/** What stands for a value, as documentation and code write it: `changeme`, `${TOKEN}`, `<password>`, a placeholder of ours. */

const DUMMY_WORDS =
  /change[-_ ]?(?:me|it|this)|placeholder|redacted|your[-_ ]|my[-_]?(?:password|secret|token|key)(?![-_][A-Za-z0-9]{20})|not[-_ ]?a[-_ ]?(?:real|secret)|insert[-_ ]|replace[-_ ]|^(?:x{3,}|\*{3,}|\.{3,}|-{3,}|_{3,}|password\d{0,3}|passwd|secret|token|test|string|str|text|value|null|none|nil|true|false|undefined|required|optional|hidden|masked|todo|tbd|n\/a|foo(?:bar)?|bar|baz|default)$/i;
const REFERENCE =
  /^(?:\$\{[^}]*(?:\}\S*)?|\$[A-Za-z_]\w*(?:[/.:][\w./:-]*)?|\$\(.*|\{\{.*|<[^>]*>?|%[A-Za-z_]+%|\[?[A-Z_]+_\d{1,6}\]?|\[[A-Z_]+\]|@[A-Za-z.]+|!(?:Ref|Sub|GetAtt|Secret|vault)\b.*|\.{0,2}\/[\w./-]*)$|^(?:coffer:\/\/|vault:|arn:|op:\/\/|process\.env|os\.(?:environ|getenv)|ENV\[|env\(|getenv|System\.|secrets\.|config\.|vars?\.|self\.|this\.|req\.|ctx\.|params?\.|await\b|new\b|function\b|null\b)/;

const isOneLetter = (value: string) => value !== '' && value === value.charAt(0).repeat(value.length);

export function isPlaceholder(value: string): boolean {
  return DUMMY_WORDS.test(value) || REFERENCE.test(value) || isOneLetter(value);
}

const SAMPLE_WORDS =
  /example|sample|dummy|fake|your|x{6,}|\*{3,}|\.{3,}|0{8,}|(?:0?123456789|abcdefgh)|deadbeef|^(?:pass(?:w(?:or)?d)?\d{0,3}|pwd|secret\d{0,3}|test(?:ing)?\d{0,3}|guest|admin|root|user(?:name)?|postgres|hunter2|xyz|abc(?:123)?|12345678?|unknown)$/i;
const OTHER_REFERENCE =
  /^(?:\$\{|\$[A-Za-z_(]|\{\{[^{}]*\}\}|\{[a-z_]+\}|<|%[A-Za-z_]+%|%\(|~\/|ref\+|file:|env:|projects\/)|\$\{[\w.:?/ -]*\}|\{\{[^{}]*\}\}|<%/;

/** What documentation and tests show as an example, or take from elsewhere. It may still be a secret that somebody used. */
export function isSample(value: string): boolean {
  return SAMPLE_WORDS.test(value) || OTHER_REFERENCE.test(value) || hasFewLetters(value);
}

/** `1234512345` and `aaaabbbbcccc`: long, and made of few different characters. */
function hasFewLetters(value: string): boolean {
  return value.length >= 12 && new Set(value).size <= 4;
}
