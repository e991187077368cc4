import type { Match } from './formats.ts';
import { classesOf, entropyOf, isCode, isDummy, isIdentifier } from './judgement.ts';

/** A value beside a name that says that it is secret. */
export interface Assigned extends Match {
  /** Too ordinary to be reported for its looks. It counts only if a vault has it. */
  isWeak: boolean;
}

/** Names, then a sign. Names of passwords come first, because a value beside one may be chosen by a person. */
const NAMED =
  /(?:(?<password>pass(?:word|wd|phrase|code|wort)?|pwd|kennwort|contrase(?:ñ|n)a|senha|requirepass)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|account[_-]?key|master[_-]?key|credential|auth)[A-Za-z0-9_-]{0,24}["'`\]]{0,2}[ \t]{0,8}(?::=|=>|==?|:|<-)[ \t(]{0,8}/gi;
const VALUE = /"([^"\\\n]{4,512})"|'([^'\\\n]{4,512})'|`([^`\\\n]{4,512})`|([^\s"'`,;<>(){}[\]]{4,512})/y;
const ELEMENT = /<(?:[A-Za-z0-9_.:-]{0,40})(?:password|passwd|secret|token|apikey)>([^<>\n]{4,512})<\//gi;
const TYPE_WORDS =
  /^(?:string|str|text|bytes|buffer|number|int|integer|bool(?:ean)?|char|varchar|object|any|unknown|void|type|enum|array|list|map|optional|required|SecretStr|Secret|String|Password|Token)\b[?[\]|;,<]{0,3}$/i;

/** Languages in which a value without quotes is a name of something else. */
const CODE_FILE =
  /\.(?:[cm]?[jt]sx?|py|go|rs|java|kt|cs|cpp|cc|c|h|hpp|rb|php|swift|scala|dart|lua|pl|ex|exs|erl|hs|clj|vue|svelte|sql|md|mdx|rst|adoc|html?|css|scss)$/i;

export function assignmentsIn(text: string, file: string): Assigned[] {
  const areBareOnesNames = CODE_FILE.test(file);
  const found: Assigned[] = [];
  for (const match of text.matchAll(NAMED)) {
    VALUE.lastIndex = match.index + match[0].length;
    const [whole, ...groups] = VALUE.exec(text) ?? [];
    if (whole === undefined) continue;
    const value = groups.find((group) => group !== undefined) ?? '';
    const isQuoted = value.length !== whole.length;
    if (!isQuoted && (areBareOnesNames || /[.(]/.test(text.charAt(VALUE.lastIndex)))) continue;
    const start = match.index + match[0].length + (isQuoted ? 1 : 0);
    const isPassword = match.groups?.['password'] !== undefined && !isPartOfWord(match, text);
    add(found, { value, start, isPassword, isQuoted });
  }
  if (/\.(?:xml|config|plist|pom|xsd)$/i.test(file)) {
    for (const match of text.matchAll(ELEMENT))
      add(found, {
        value: match[1] ?? '',
        start: match.index + match[0].indexOf('>') + 1,
        isPassword: true,
        isQuoted: true,
      });
  }
  return found;
}

function add(
  found: Assigned[],
  { value, start, isPassword, isQuoted }: { value: string; start: number; isPassword: boolean; isQuoted: boolean },
): void {
  if (value.length < 6 || isDummy(value) || isCode(value) || TYPE_WORDS.test(value)) return;
  const isStrong = isPassword ? looksChosen(value, isQuoted) : looksRandom(value);
  const kind = isPassword ? 'password' : 'secret-value';
  found.push({ kind, start, end: start + value.length, isWeak: !isStrong });
}

/** `bypass` and `compass` are no names of a password, while `dbPassword` and `DB_PASS` are. */
function isPartOfWord(match: RegExpExecArray, text: string): boolean {
  const { password = '' } = match.groups ?? {};
  const before = text.charAt(match.index - 1);
  if (!/[A-Za-z]/.test(before) || password.length >= 8) return false;
  return !(/[a-z]/.test(before) && /^[A-Z]/.test(password));
}

/** A word alone is more often a label or a message than a password. */
function looksChosen(value: string, isQuoted: boolean): boolean {
  if (/\s/.test(value) || value.length < 7 || isIdentifier(value)) return false;
  if (/^[A-Za-z_-]+$/.test(value)) return false;
  return classesOf(value) >= (isQuoted ? 2 : 3) && entropyOf(value) >= 2.5;
}

function looksRandom(value: string): boolean {
  if (value.length < 16 || /\s/.test(value) || isIdentifier(value) || /^[A-Za-z]+$/.test(value)) return false;
  if (/^[a-f0-9]{32,128}$/i.test(value)) return entropyOf(value) >= 3;
  return /\d/.test(value) && /[A-Za-z]/.test(value) && entropyOf(value) >= 3.5;
}
