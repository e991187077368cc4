import { entropyOf } from '../../../kernel/crypto/entropy.ts';
import { classesOf, type Finding, isDummy } from './finding.ts';
import { startOfTrailing } from './sentence-end.ts';

/** Random text has at least this many bits for each character; words and names have fewer. */
const ENTROPY_MIN = 3.5;
const VALUE_LENGTH_MIN = 6;
const KEY_LENGTH_MIN = 12;

/** Words for a password, in the languages of our users. A value beside one is taken for a password although a person may have chosen it. */
const PASSWORD_WORDS = [
  'pass(?:word|wd|phrase|code|wort|ord)?s?',
  'pwd',
  'pw',
  'kennwort',
  'passwort',
  'mot[ _-]?de[ _-]?passe',
  'mdp',
  'contrase(?:ñ|n)a',
  'clave',
  'senha',
  'wachtwoord',
  'has(?:ł|l)o',
  "parola(?: d[’']ordine)?",
  'l(?:ö|o)senord',
  'пароль',
  'пароля',
  'パスワード',
  '暗証番号',
  '密码',
  '密碼',
  '비밀번호',
  'şifre',
  'sifre',
  'pin',
  'requirepass',
].join('|');

/** Words for a key or token. A value beside one counts only if it looks random. */
const SECRET_WORDS =
  'secret|token|api[ _-]?key|apikey|access[ _-]?key|credential|private[ _-]?key|encryption[ _-]?key|signing[ _-]?key|master[ _-]?key|account[ _-]?key|app(?:lication)?[ _-]?key|license[ _-]?key|dsn|geheimnis|schl(?:ü|u)ssel|jeton|segredo|токен|секрет|トークン|密钥|令牌|秘密|シークレット';
/** Words that often stand beside names and digests. A value counts only if it has letters of both cases, and digits. */
const WEAK_WORDS = 'auth|key|session|cookie|salt|seed|sid|cl(?:é|e)|llave|clave|chave|chiave|sleutel|klucz|ключ|キー';

/** What stands between a name and its value: signs in code and configuration, and verbs in sentences. */
const SIGN =
  '["\'`]?\\]?[ \\t]{0,8}(?::=|=>|==?|:|=|<-|：|＝)[ \\t([]{0,8}|(?<comma>["\'`][ \\t]{0,4},[ \\t]{0,4}(?=["\'`]))';
const VERB =
  '(?:[ \\t]{1,3}(?:of|for|to|von|für|de|del|da|do|di|per|pour|para|voor|dla|для)[ \\t]{1,3}[^\\s:=]{1,40}(?:[ \\t]{1,3}[^\\s:=]{1,40}){0,3})?[ \\t]{1,3}(?:is|was|ist|lautet|war|es|est|era|è|é|foi|jest|to|being|set to|reads|equals|это|является)(?:[ \\t]{1,3}(?:now|still|jetzt|ahora|agora|maintenant|nun|set to))?[ \\t]{0,3}:?[ \\t]{1,3}|[ \\t]{0,3}(?:は|是|为|為|는|은)[ \\t:：]{0,3}';
const VALUE =
  '(?:"(?<double>[^"\\n]{3,512})"|\'(?<single>[^\'\\n]{3,512})\'|`(?<tick>[^`\\n]{3,512})`|「(?<corner>[^」\\n]{3,512})」|(?<bare>[^\\s"\'`,;<>(){}「」。、]{3,512}))';

const PASSWORD = new RegExp(`(?<word>${PASSWORD_WORDS})(?:[_-]?\\d{1,2})?(?:${SIGN}|${VERB})${VALUE}`, 'dgi');
const SECRET = new RegExp(
  `(?:${SECRET_WORDS})[A-Za-z0-9_-]{0,24}(?:${SIGN}|${VERB})(?:[A-Za-z]{3,10}[ ])?${VALUE}`,
  'dgi',
);
const WEAK = new RegExp(`(?:${WEAK_WORDS})[A-Za-z0-9_-]{0,24}(?:${SIGN}|${VERB})${VALUE}`, 'dgi');
/** XML, and tags of build files. */
const ELEMENT = new RegExp(
  `<(?<name>[A-Za-z0-9_.:-]{0,40}(?:${PASSWORD_WORDS}|secret|token|key))>(?<bare>[^<>\\n]{4,512})</`,
  'dgi',
);

/** Names and signs that are no value: types, calls, comparisons, words of a sentence. */
const CODE_AFTER = /^[.([]/;
const TYPE_WORDS =
  /^(?:string|str|text|bytes|buffer|number|int|integer|bool(?:ean)?|char|varchar|object|any|unknown|void|type|enum|array|list|map|optional|required|SecretStr|Secret|String|Password|Token)\b[?[\]|;,<]{0,3}$/i;

export function assignmentFindings(text: string): Finding[] {
  const findings: Finding[] = [];
  for (const form of [PASSWORD, ELEMENT]) {
    for (const match of text.matchAll(form)) {
      if (isPartOfWord(match, text)) continue;
      const found = assignedValue(match, text);
      if (found !== null && isPassword(found.value, found.isQuoted))
        findings.push({ start: found.start, end: found.end, kind: 'password', rule: 'password-assignment' });
    }
  }
  for (const match of text.matchAll(SECRET)) {
    const found = assignedValue(match, text);
    if (found !== null && isRandom(found.value))
      findings.push({ start: found.start, end: found.end, kind: 'secret', rule: 'random-value-assignment' });
  }
  for (const match of text.matchAll(WEAK)) {
    const found = assignedValue(match, text);
    if (found !== null && isRandom(found.value) && isMixed(found.value))
      findings.push({ start: found.start, end: found.end, kind: 'secret', rule: 'random-value-assignment' });
  }
  return findings;
}

const isMixed = (value: string) => /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value);

/** `bypass` and `spin` are no names of a password, while `dbPassword` and `DB_PASS` are. */
function isPartOfWord(match: RegExpExecArray, text: string): boolean {
  const { word = '' } = match.groups ?? {};
  const before = text.charAt(match.index - 1);
  if (!/\p{L}/u.test(before) || word.length >= 8) return false;
  return !(/\p{Ll}/u.test(before) && /^\p{Lu}/u.test(word));
}

interface Value {
  value: string;
  start: number;
  end: number;
  isQuoted: boolean;
}

const NOT_VALUES: ReadonlySet<string> = new Set(['name', 'word', 'comma']);

function assignedValue(match: RegExpExecArray, text: string): Value | null {
  const groups = match.indices?.groups ?? {};
  const [name, at] = Object.entries(groups).find(([group, span]) => !NOT_VALUES.has(group) && span !== undefined) ?? [];
  if (name === undefined || at === undefined) return null;
  const [start, end] = at;
  const isQuoted = name !== 'bare';
  // The full stop or comma of a sentence does not belong to the value.
  const value = isQuoted ? text.slice(start, end) : withoutSentenceEnd(text.slice(start, end));
  if (!isQuoted && CODE_AFTER.test(text.slice(end, end + 1))) return null;
  // Two strings beside each other are more often a list of names than a name and its value.
  if (match.groups?.['comma'] !== undefined && classesOf(value) < 3) return null;
  return { value, start, end: start + value.length, isQuoted };
}

/** A password may end in `!` or `?`, so the first of these stays. */
function withoutSentenceEnd(text: string): string {
  const end = startOfTrailing(text, '.,:;!?)]');
  return text.slice(0, '!?'.includes(text.charAt(end) || ' ') ? end + 1 : end);
}

function isPassword(value: string, isQuoted: boolean): boolean {
  if (value.length < VALUE_LENGTH_MIN || isDummy(value) || TYPE_WORDS.test(value) || isCode(value)) return false;
  // A sentence about passwords goes on with words; a password that is only lower-case letters is taken for one if it is quoted.
  if (/^[\p{L}]+$/u.test(value)) return isQuoted && value.length >= 8 && entropyOf(value) >= 2.5;
  if (/^[a-z]+(?:[-_/.][a-z]+)*$/.test(value) && !isQuoted) return false;
  if (isQuoted && /\s/.test(value) && !/\d/.test(value) && value.split(/\s+/).length < 4) return false;
  return classesOf(value) >= 2 || entropyOf(value) >= 3;
}

function isRandom(value: string): boolean {
  if (value.length < KEY_LENGTH_MIN || isDummy(value) || isCode(value) || /\s/.test(value)) return false;
  if (/^[A-Za-z]+$/.test(value) && !(/[a-z][A-Z]/.test(value) && entropyOf(value) >= 4.2)) return false;
  if (isIdentifier(value)) return false;
  return entropyOf(value) >= ENTROPY_MIN || /^[a-f0-9]{32,128}$/i.test(value);
}

/** Ids, names, addresses, versions and times that stand beside such words without being one. */
function isIdentifier(value: string): boolean {
  return (
    /^[a-z]+(?:[-_./:][a-z0-9]{1,12}){0,12}$/.test(value) ||
    (/^[A-Z][A-Z0-9_]*$/.test(value) && /_/.test(value)) ||
    /^(?:https?|ssh|git|file|s3|gs|redis|amqp):\/\/[^@]*$/.test(value) ||
    /^(?:vault|sec|req|anom|host|tenant|user|group|policy|token|audit|approval|exporter|webhook|delivery|cluster|acct|apath|lease)_[0-9a-z]{20,32}$/i.test(
      value,
    ) ||
    /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+Z?)?$/.test(value) ||
    /^v?\d+(?:\.\d+){1,3}(?:[-+][\w.]+)?$/.test(value) ||
    /^(?:sha(?:1|256|384|512)[-:]|SHA256:|ssh-|ecdsa-|AAAA[BCE])/.test(value) ||
    /^[\w.-]+@[\w.-]+$/.test(value) ||
    /^\d+(?::v\d+)?$/.test(value) ||
    /^[A-Z][a-z]*(?:-[A-Z][a-z]+)+$/.test(value) ||
    /^[A-Za-z_$]+\d{0,3}(?:\??\.[A-Za-z_$]+\d{0,3})+$/.test(value) ||
    /^[a-z]+(?:[A-Z][a-z]+){1,8}\d?$/.test(value) ||
    /^(?:[A-Z][a-z]+){2,8}\d?$/.test(value) ||
    /^[\w-]+\.(?:pem|key|crt|json|ya?ml|txt|env|ts|js|py|go|md|conf|toml)$/.test(value)
  );
}

/** A call, an index, an operator or a template instead of a literal. */
function isCode(value: string): boolean {
  return (
    /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*(?:\(.*|\[.*|\?\.|\s+[+|&]{1,2})/.test(value) ||
    /\$\{|\{\{|<%|%s|%d|%v/.test(value)
  );
}
