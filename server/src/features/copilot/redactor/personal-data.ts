import * as check from './check-digits.ts';
import type { Finding, Kind } from './finding.ts';

/** E-mail addresses, phone numbers, cards, accounts and personal ids. */
interface Form {
  readonly rule: string;
  readonly kind: Kind;
  readonly form: RegExp;
  readonly check?: (digits: string) => boolean;
  /** The number is too plain by itself: a word beside it must say what it is. */
  readonly word?: RegExp;
}

const EMAIL =
  /(?<![\p{L}\p{M}0-9._%+-])[\p{L}0-9_][\p{L}\p{M}0-9._%+'-]{0,63}(?:@|%40|＠)(?:[\p{L}\p{M}0-9-]{1,63}\.){1,6}(?:(?:xn--[A-Za-z0-9-]{2,59}|[A-Za-z\u00c0-\u024f]{2,24})(?![A-Za-z0-9])|[^\P{L}A-Za-z][\p{L}\p{M}]{1,23})/gu;
/** Of the same form as an address: the login of Git over SSH, a package with its version, and a picture for sharp screens. */
const NOT_EMAIL = /^git(?:@|%40)(?:github\.com|gitlab\.com|bitbucket\.org)$|@v?\d[\w.-]*$|@\dx\.(?:png|jpg|svg)$/i;

/** What stands before the password of a URL, which is followed by `@` and the host. */
const BEFORE_PASSWORD = /:\/\/[^\s/@:]{0,64}:$/;
const BEFORE_PASSWORD_LENGTH = 68;

const CARD =
  /(?<![\w.-])(?:\d{4}([ -]?)\d{4}\1\d{4}\1\d{1,7}|3[47]\d{2}([ -]?)\d{6}\2\d{5}|3[068]\d{2}([ -]?)\d{6}\3\d{4})(?![\w-])/g;
/** Issuer prefixes of the networks, without which any long number would be a card one time in ten. */
const CARD_PREFIX =
  /^(?:4|5[1-5]|2(?:2[2-9]|[3-6]\d|7[01]|720)|3[47]|3(?:0[0-5]|[68])|6(?:011|5|4[4-9]|2)|35(?:2[89]|[3-8])|50|5[6-9]|67|81|9792|220)/;

const IBAN = /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?(?![A-Za-z0-9])/g;
const IBAN_LENGTHS: Readonly<Record<string, number>> = {
  AD: 24,
  AE: 23,
  AL: 28,
  AT: 20,
  AZ: 28,
  BA: 20,
  BE: 16,
  BG: 22,
  BH: 22,
  BR: 29,
  CH: 21,
  CR: 22,
  CY: 28,
  CZ: 24,
  DE: 22,
  DK: 18,
  DO: 28,
  EE: 20,
  EG: 29,
  ES: 24,
  FI: 18,
  FO: 18,
  FR: 27,
  GB: 22,
  GE: 22,
  GI: 23,
  GL: 18,
  GR: 27,
  GT: 28,
  HR: 21,
  HU: 28,
  IE: 22,
  IL: 23,
  IS: 26,
  IT: 27,
  JO: 30,
  KW: 30,
  KZ: 20,
  LB: 28,
  LI: 21,
  LT: 20,
  LU: 20,
  LV: 21,
  MC: 27,
  MD: 24,
  ME: 22,
  MK: 19,
  MT: 31,
  MU: 30,
  NL: 18,
  NO: 15,
  PK: 24,
  PL: 28,
  PS: 29,
  PT: 25,
  QA: 29,
  RO: 24,
  RS: 22,
  SA: 24,
  SE: 24,
  SI: 19,
  SK: 24,
  SM: 27,
  TN: 24,
  TR: 26,
  UA: 29,
  VG: 24,
  XK: 20,
};

const ID_WORDS =
  /(?:\b(?:ssn|social security|tax(?:payer)? ?(?:id|number|file)|national (?:id|insurance|number)|personal (?:id|number)|id (?:card|number)|passport|nino|nhs|sin|tin)\b|steuer|ausweis|versichert|sozialversicherung|ahv|avs|s[eé]curit[eé] sociale|\bnir\b|num[eé]ro|c[eé]dula|\bdni\b|\bnie\b|\bnif\b|identi|codice fiscale|\bcpf\b|\bcnpj\b|\bbsn\b|burgerservice|sofinummer|\bpesel\b|dow[oó]d|personnummer|personal|rijksregister|registre national|national|aadhaar|aadhar|\buidai\b|\bpan\b|身份证|身份證|证件|マイナンバー|個人番号|паспорт|инн|снилс)/i;

const IDS: readonly Form[] = [
  {
    rule: 'us-social-security-number',
    kind: 'personal_id',
    form: /(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])/g,
    check: check.isSocialSecurityNumber,
  },
  {
    rule: 'us-social-security-number',
    kind: 'personal_id',
    form: /(?<![\w.-])(?:\d{9}|\d{3} \d{2} \d{4})(?![\w-])/g,
    check: check.isSocialSecurityNumber,
    word: /ssn|social security/i,
  },
  {
    rule: 'uk-national-insurance-number',
    kind: 'personal_id',
    form: /(?<![A-Za-z0-9])(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?![A-Za-z0-9])/g,
  },
  {
    rule: 'uk-nhs-number',
    kind: 'personal_id',
    form: /(?<![\w.-])\d{3}[ -]?\d{3}[ -]?\d{4}(?![\w-])/g,
    check: check.isNhsNumber,
    word: /nhs/i,
  },
  {
    rule: 'german-tax-id',
    kind: 'personal_id',
    form: /(?<![\w.-])\d{2} ?\d{3} ?\d{3} ?\d{3}(?![\w-])/g,
    check: check.isGermanTaxId,
  },
  {
    rule: 'french-social-security-number',
    kind: 'personal_id',
    form: /(?<![\w.-])[12] ?\d{2} ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}(?![\w-])/g,
    check: check.isFrenchNir,
  },
  {
    rule: 'spanish-id',
    kind: 'personal_id',
    form: /(?<![A-Za-z0-9])(?:\d{8}|[XYZ]-?\d{7})-?[TRWAGMYFPDXBNJZSQVHLCKE](?![A-Za-z0-9])/g,
    check: check.isSpanishId,
  },
  {
    rule: 'italian-tax-code',
    kind: 'personal_id',
    form: /(?<![A-Za-z0-9])[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z](?![A-Za-z0-9])/gi,
    check: check.isItalianTaxCode,
  },
  {
    rule: 'brazilian-cpf',
    kind: 'personal_id',
    form: /(?<![\w.-])\d{3}\.\d{3}\.\d{3}-\d{2}(?![\w-])/g,
    check: check.isBrazilianId,
  },
  {
    rule: 'brazilian-cpf',
    kind: 'personal_id',
    form: /(?<![\w.-])\d{11}(?![\w-])/g,
    check: check.isBrazilianId,
    word: /cpf/i,
  },
  {
    rule: 'brazilian-cnpj',
    kind: 'personal_id',
    form: /(?<![\w.-])\d{2}\.\d{3}\.\d{3}\/\d{4}-\d{2}(?![\w-])/g,
    check: check.isBrazilianId,
  },
  {
    rule: 'dutch-bsn',
    kind: 'personal_id',
    form: /(?<![\w.-])\d{4}[. ]?\d{2}[. ]?\d{3}(?![\w-])/g,
    check: check.isDutchBsn,
    word: /bsn|burgerservice|sofinummer/i,
  },
  { rule: 'polish-pesel', kind: 'personal_id', form: /(?<![\w.-])\d{11}(?![\w-])/g, check: check.isPolishPesel },
  {
    rule: 'swedish-personal-number',
    kind: 'personal_id',
    form: /(?<![\w.-])(?:19|20)?\d{6}[-+]\d{4}(?![\w-])/g,
    check: check.isSwedishId,
  },
  {
    rule: 'belgian-national-number',
    kind: 'personal_id',
    form: /(?<![\w-])\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}(?![\w-])/g,
    check: check.isBelgianId,
  },
  {
    rule: 'swiss-ahv-number',
    kind: 'personal_id',
    form: /(?<![\w.-])756\.?\d{4}\.?\d{4}\.?\d{2}(?![\w-])/g,
    check: check.isSwissAhv,
  },
  {
    rule: 'indian-aadhaar',
    kind: 'personal_id',
    form: /(?<![\w.-])[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}(?![\w-]| \d)/g,
    check: check.isAadhaar,
    word: ID_WORDS,
  },
  {
    rule: 'indian-pan',
    kind: 'personal_id',
    form: /(?<![A-Za-z0-9])[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z](?![A-Za-z0-9])/g,
  },
  {
    rule: 'chinese-resident-id',
    kind: 'personal_id',
    form: /(?<![\w.-])[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?![\w-])/g,
    check: check.isChineseId,
  },
  {
    rule: 'japanese-my-number',
    kind: 'personal_id',
    form: /(?<![\w.-])\d{4}[ -]?\d{4}[ -]?\d{4}(?![\w-]| \d)/g,
    check: check.isMyNumber,
    word: /マイナンバー|個人番号|my ?number/i,
  },
  {
    rule: 'passport-number',
    kind: 'personal_id',
    form: /(?<![A-Za-z0-9])[A-Z]{1,2}[0-9A-Z]{0,2}\d{5,8}(?![A-Za-z0-9])/g,
    word: /passport|reisepass|passeport|pasaporte|passaporto|paspoort|паспорт|护照|旅券/i,
  },
];

const PHONES: readonly Form[] = [
  {
    rule: 'international-phone-number',
    kind: 'phone',
    form: /(?<![\w+.])(?:\+|00)[1-9]\d{0,2}(?:[ ./-]?\(?(?:\d{1,4}(?!\d)|\d{4})\)?){2,6}(?![\w-])/g,
  },
  {
    rule: 'north-american-phone-number',
    kind: 'phone',
    form: /(?<![\w.-])(?:1[ .-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[ .-])[2-9]\d{2}[ .-]\d{4}(?![\w-]|\.\d)/g,
  },
  {
    rule: 'national-phone-number',
    kind: 'phone',
    form: /(?<![\w.-])\(?0\d{1,4}\)?[ ./-]{1,2}\d{2,4}(?:[ .-]?\d{2,4}){1,4}(?![\w-]|\.\d)/g,
  },
  {
    rule: 'national-phone-number',
    kind: 'phone',
    form: /(?<![\w.-])\(?\d{2}\)? ?9?\d{4}-?\d{4}(?![\w-])/g,
    word: /tel(?:efon[eo]?|éfono)?\b|celular|fone|whatsapp|m[oó]vil|phone|mobile|cell/i,
  },
  {
    rule: 'national-phone-number',
    kind: 'phone',
    form: /(?<![\w.-])\d{2,4}(?:[ .-]?\d{2,4}){2,4}(?![\w-])/g,
    word: /\b(?:phone|tel|mobile|cell|fax|call me|telefon|handy|t[eé]l[eé]phone|portable|tel[eé]fono|m[oó]vil|telefone|celular|cellulare|telefoon|mobiel|kom[oó]rk)|電話|手机|电话|телефон/i,
  },
];

/** How far before a number the word may stand that says what it is. */
const WORD_DISTANCE = 48;

export function personalFindings(text: string): Finding[] {
  const findings: Finding[] = [];
  const add = (match: RegExpExecArray, kind: Kind, rule: string) =>
    findings.push({ start: match.index, end: match.index + match[0].length, kind, rule });
  for (const match of text.matchAll(EMAIL)) {
    const start = text.slice(Math.max(0, match.index - BEFORE_PASSWORD_LENGTH), match.index);
    if (!NOT_EMAIL.test(match[0]) && !BEFORE_PASSWORD.test(start)) add(match, 'email', 'email-address');
  }
  for (const match of text.matchAll(CARD)) {
    const digits = match[0].replace(/\D/g, '');
    if (digits.length >= 12 && CARD_PREFIX.test(digits) && check.luhn(digits) && !/^(\d)\1*$/.test(digits))
      add(match, 'card', 'payment-card');
  }
  for (const match of text.matchAll(IBAN)) {
    const account = match[0].replaceAll(' ', '');
    const length = IBAN_LENGTHS[account.slice(0, 2)] ?? 0;
    if (length > 0 && account.length >= length && check.isIban(account.slice(0, length))) add(match, 'iban', 'iban');
  }
  for (const { rule, kind, form, check: isValid, word } of [...IDS, ...PHONES]) {
    for (const match of text.matchAll(form)) {
      const compact = match[0].replace(/[^0-9A-Za-z]/g, '').toUpperCase();
      if (isValid !== undefined && !isValid(compact)) continue;
      if (word !== undefined && !word.test(text.slice(Math.max(0, match.index - WORD_DISTANCE), match.index))) continue;
      if (kind === 'phone' && !isPhone(match[0], compact)) continue;
      add(match, kind, rule);
    }
  }
  return findings;
}

/** E.164 allows 15 digits. A date, a time or a version is none. */
function isPhone(text: string, digits: string): boolean {
  const count = digits.length;
  if (count < 8 || count > 15 || /^(\d)\1*$/.test(digits)) return false;
  return !/^\d{4}-\d{2}-\d{2}|^\d{2}[./-]\d{2}[./-]\d{4}$|^(?:\d{1,3}\.){3}\d{1,3}$/.test(text.trim());
}
