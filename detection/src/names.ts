/** What the name beside a value says of it. */
export interface Name {
  readonly start: number;
  /** Where what follows the name begins. */
  readonly end: number;
  readonly strength: 'password' | 'secret' | 'weak';
  /** Whether it names a fact about a secret, such as its length or the file that has it. */
  readonly isAbout: boolean;
  /** All of it. */
  readonly whole: string;
}

/** In the languages of our users. */
const PASSWORDS = [
  'pass(?:word|wd|phrase|code|wort|ord)?s?',
  'pwd',
  'pw',
  'kennwort',
  'mot[ _-]?de[ _-]?passe',
  'mdp',
  'contrase(?:ñ|n)a',
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
].join('|');
const SECRETS =
  'secret|token|api[ _-]?key|access[ _-]?key|credential|private[ _-]?key|encryption[ _-]?key|signing[ _-]?key|master[ _-]?key|account[ _-]?key|app(?:lication)?[ _-]?key|license[ _-]?key|dsn|webhook|geheimnis|schl(?:ü|u)ssel|jeton|segredo|токен|секрет|トークン|密钥|令牌|秘密|シークレット';
/** These often stand beside names and digests. */
const WEAK =
  'auth|key|session|cookie|salt|seed|sid|creds|nonce|cl(?:é|e)|llave|clave|chave|chiave|sleutel|klucz|ключ|キー';

const KEYWORD = new RegExp(`(?<password>${PASSWORDS})|(?<secret>${SECRETS})|(?<weak>${WEAK})`, 'gi');
const WHOLE_PASSWORD = new RegExp(`^(?:${PASSWORDS})\\d{0,2}$`, 'i');
/** Where a name says of a part of it that it is a password: `dbpassword`, but not `compass`. */
const PASSWORD_INSIDE =
  /password|passwd|passphrase|passcode|kennwort|contrase|wachtwoord|requirepass|userpass|dbpass|rootpass|adminpass/i;
const WEAK_PARTS: ReadonlySet<string> = new Set(
  [
    'auth authorization authentication oauth oauth2 key keys session sessionid cookie cookies salt salts seed seeds sid creds nonce',
    'clé cle llave clave chave chiave sleutel klucz ключ キー',
  ]
    .join(' ')
    .split(' '),
);
/** What a name ends with that is about a secret, and is none. */
const ABOUT: ReadonlySet<string> = new Set(
  [
    'id ids name names url urls uri uris path paths file files filename dir folder type types kind field fields label length len size count counts',
    'ttl age expiry expires expiration timeout policy policies hint prompt placeholder regex pattern format header headers prefix suffix digest',
    'algorithm alg endpoint service provider version status error errors message title description index column enabled disabled required source',
    'method mode scope scopes scheme schema class handler manager store factory builder parser reader writer validator checker test tests example',
    'hash fingerprint thumbprint host hostname port domain user username email issuer audience param params parameter property arg ref selector',
  ]
    .join(' ')
    .split(' '),
);
const PUBLIC_PARTS: ReadonlySet<string> = new Set([
  'public',
  'publickey',
  'pub',
  'publishable',
  'csrf',
  'xsrf',
  'sort',
  'primary',
  'foreign',
]);

const NAME_LENGTH_MAX = 64;
const isNameCode = (code: number) =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95 || code === 45;
const DOT = 46;
const DOLLAR = 36;

/** The names in a text that speak of secrets, each once. */
export function* namesIn(text: string): Generator<Name> {
  let last = 0;
  for (const match of text.matchAll(KEYWORD)) {
    if (match.index < last) continue;
    const keywordEnd = match.index + match[0].length;
    const end = endOfName(text, keywordEnd);
    last = end;
    const start = startOfName(text, match.index);
    const name = nameOf(text.slice(start, end), match, text.charAt(match.index - 1));
    if (name !== null) yield { start, end, ...name };
  }
}

function endOfName(text: string, from: number): number {
  let end = from;
  while (end < text.length && end - from < NAME_LENGTH_MAX && isNameCode(text.charCodeAt(end))) end++;
  // The arrow of a pointer, and the dash before a sentence, do not belong to it.
  while (end > from && text.charCodeAt(end - 1) === 45) end--;
  return end;
}

function startOfName(text: string, from: number): number {
  let start = from;
  while (start > 0 && from - start < NAME_LENGTH_MAX) {
    const code = text.charCodeAt(start - 1);
    if (!isNameCode(code) && code !== DOT && code !== DOLLAR) break;
    start--;
  }
  return start;
}

function nameOf(
  whole: string,
  { groups = {}, 0: keyword }: RegExpExecArray,
  before: string,
): Omit<Name, 'start' | 'end'> | null {
  const strength = strengthOf(whole, groups, keyword, before);
  if (strength === null) return null;
  const parts = partsOf(whole);
  const isAbout = ABOUT.has(parts.at(-1) ?? '') || parts.some((part) => PUBLIC_PARTS.has(part));
  return { strength, isAbout, whole };
}

function strengthOf(
  whole: string,
  groups: Record<string, string | undefined>,
  keyword: string,
  before: string,
): Name['strength'] | null {
  const parts = partsOf(whole);
  // The result of a test, in many reports.
  if (/^PASS(?:ED)?$/.test(whole)) return null;
  if (groups['password'] !== undefined) {
    // Other scripts have no letters of two cases, and their names stand beside other letters.
    const isPassword =
      PASSWORD_INSIDE.test(whole) ||
      parts.some((part) => WHOLE_PASSWORD.test(part)) ||
      /[^A-Za-z]/.test(keyword) ||
      (keyword.length >= 4 && !/\p{L}/u.test(before) && whole.toLowerCase().endsWith(keyword.toLowerCase()));
    if (isPassword) return 'password';
  }
  if (groups['secret'] !== undefined || /secret|token|api_?key|access_?key|private_?key/i.test(whole)) return 'secret';
  if (/[^A-Za-z]/.test(keyword) && groups['weak'] !== undefined) return 'weak';
  return parts.some((part) => WEAK_PARTS.has(part) || /(?<!mon|tur|don|hoc|joc|whis)key$/.test(part)) ? 'weak' : null;
}

/** `dbPassword`, `DB_PASSWORD` and `db-password` have the parts `db` and `password`. */
function partsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_.$-]/)
    .filter((part) => part !== '');
}
