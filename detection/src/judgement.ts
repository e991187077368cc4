import { entropyOf } from './entropy.ts';

/** How many of these four a text has: lower case, upper case, digits, others. */
export function classesOf(text: string): number {
  return [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].filter((one) => one.test(text)).length;
}

/** Letters of both cases and digits, in no order. */
export function isMixed(text: string): boolean {
  return /[a-z]/.test(text) && /[A-Z]/.test(text) && /\d/.test(text) && entropyOf(text) >= 4.2;
}

const HEX = /^(?:0x)?(?:[a-f0-9]{24,256}|[A-F0-9]{24,256})$/;

/** Digits in hexadecimal as random numbers have them. */
export function isRandomHex(text: string): boolean {
  return HEX.test(text) && /[A-Fa-f]/.test(text) && /\d/.test(text) && entropyOf(text) >= 2.9;
}

/** Pairs of letters that make up most of what is written in European languages. Of random pairs, one in four is among them. */
const COMMON_PAIRS = new Uint8Array(26 * 26);
const PAIRS =
  'th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic ne ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no ct us ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em ad ol rt po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev ld ry mp fe bl ab gh ty op wo sa ay ex ke ui fr oo ag ey ck pu up bo do ap rd ff da ga gr br cr dr sc sp ue ob qu um va av ep ef if po ki ok og ub ud if po gi go gu hu ir ip iz ju ka ks ku kn lt lu my nu oc od oi ov rk rm rn sk sl sm sy tt tw ug vo xt ye';
for (const pair of PAIRS.split(' ')) COMMON_PAIRS[(pair.charCodeAt(0) - 97) * 26 + pair.charCodeAt(1) - 97] = 1;

const COMMON_PAIRS_MIN = 0.6;
/** In names, digits and signs stand between whole words. */
const STEPS_MAX = 0.4;

/** Paths, names in camel case and slugs: most of them is letters, in pairs that languages have. */
export function isMadeOfWords(text: string): boolean {
  let [pairs, common, letters, last, steps] = [0, 0, 0, -1, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const isLower = code >= 97 && code <= 122;
    const letter = isLower ? code - 97 : code >= 65 && code <= 90 ? code - 65 : -1;
    if (letter !== -1) letters++;
    // Between a letter and a digit.
    if (at > 0 && (letter === -1) !== (last === -1)) steps++;
    // A capital letter after a small one begins a new word.
    const isNew = letter !== -1 && !isLower && at > 0 && text.charCodeAt(at - 1) >= 97;
    if (letter !== -1 && last !== -1 && !isNew) {
      pairs++;
      common += COMMON_PAIRS[last * 26 + letter] ?? 0;
    }
    last = letter;
  }
  if (steps >= text.length * STEPS_MAX) return false;
  return letters >= text.length * 0.6 && pairs >= text.length * 0.35 && common >= pairs * COMMON_PAIRS_MIN;
}

/** Ids, names, addresses, versions, times and digests that stand beside such names without being a secret. */
export function isIdentifier(value: string): boolean {
  return IDENTIFIERS.some((form) => form.test(value));
}

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const IDENTIFIERS: readonly RegExp[] = [
  /^[a-z]+(?:[-_./:][a-z0-9]{1,12}){0,12}$/,
  /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/,
  /^(?:vault|sec|req|anom|host|tenant|user|group|policy|token|audit|approval|exporter|webhook|delivery|cluster|acct|apath|lease)_[0-9a-z]{20,32}$/i,
  /^(?:https?|ssh|git|file|s3|gs|redis|amqp):\/\/[^@]*$/,
  UUID,
  /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+Z?)?$/,
  /^v?\d+(?:\.\d+){1,12}(?:[-+][\w.]+)?$/,
  /^(?:sha(?:1|256|384|512)[-:]|SHA256:|ssh-|ecdsa-|AAAA[BCE])/,
  /^[\w.+-]+@[\w-]+(?:\.[\w-]+)*$/,
  /^\d+(?::v\d+)?$/,
  /^[A-Z][a-z]*(?:-[A-Z][a-z]+)+$/,
  /^[A-Za-z_$]+\d{0,3}(?:\??\.[A-Za-z_$]+\d{0,3})+$/,
  /^[A-Za-z]?[a-z]+(?:[A-Z][a-z]+){1,8}\d?$/,
  /^[\w./-]+\.(?:pem|key|crt|json|ya?ml|txt|env|ts|js|py|go|md|conf|toml|html|css|png|svg)$/,
  // Actions and roles of access policies: `iam:PassRole`, `roles/storage.admin`.
  /^[a-z][a-z0-9-]*:[A-Za-z*]+$/,
];

/** A call, an index, an operator or a template instead of a literal. */
export function isCode(value: string): boolean {
  return CODE.some((form) => form.test(value));
}

const CODE: readonly RegExp[] = [
  /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*(?:\(|\[|\?\.|\s+[+|&]{1,2})/,
  /\$\{[\w.:?/ -]*\}|\{\{[^{}]*\}\}|<%|%[sdv](?![A-Za-z0-9])|^\{\d?\}|=> /,
  // A pattern, or data that has names of its own.
  /^\^|^\(\?|^[[{]["']?[a-z_]*["']?(?:$|[:,=\s])|\[\^/,
];

const TYPE_WORDS =
  /^(?:string|str|text|bytes|buffer|number|int|integer|bool(?:ean)?|char|varchar|object|any|unknown|void|type|enum|array|list|map|optional|required|SecretStr|Secret|String|Password|Token)\b[?[\]|;,<]{0,3}$/i;

/** The name of a type in a declaration. */
export function isType(value: string): boolean {
  return TYPE_WORDS.test(value);
}

/** A password as people choose one. A word alone is more often a label or a message. */
export function looksChosen(value: string, isQuoted: boolean): boolean {
  if (/\s/.test(value) || value.length < 7 || isIdentifier(value)) return false;
  if (/^[A-Za-z_-]+$/.test(value)) return false;
  if (looksRandom(value)) return true;
  return classesOf(value) >= (isQuoted ? 2 : 3) && entropyOf(value) >= 2.5;
}

/** Letters and digits without order, as programs make them. */
export function looksRandom(value: string): boolean {
  if (value.length < 16 || /\s/.test(value)) return false;
  if (/^[A-Za-z]+$/.test(value)) return areRandomLetters(value);
  if (isIdentifier(value)) return false;
  if (isRandomHex(value)) return true;
  return /\d/.test(value) && /[A-Za-z]/.test(value) && entropyOf(value) >= 3.3 && !isMadeOfWords(value);
}

const LETTERS_MIN = 20;

/** Letters of both cases in no order: a name begins its words with capital letters, and is made of words. */
function areRandomLetters(value: string): boolean {
  if (value.length < LETTERS_MIN || !/[a-z]/.test(value) || !/[A-Z]/.test(value) || isMadeOfWords(value)) return false;
  return (value.match(/[A-Z]/g)?.length ?? 0) >= value.length * 0.25 && entropyOf(value) >= 3.8;
}

const PRINTABLE_LENGTH_MIN = 32;
const SPACES_MAX = 4;

/** Signs of all kinds without order, as generators of keys and salts make them. A space may be among them. */
export function looksPrintable(value: string): boolean {
  if (value.length < PRINTABLE_LENGTH_MIN || classesOf(value) < 4 || entropyOf(value) < 4.6) return false;
  const signs = value.match(/[!-/:-@[-`{-~]/g)?.length ?? 0;
  return signs >= value.length * 0.15 && (value.match(/\s/g)?.length ?? 0) <= SPACES_MAX && !isMadeOfWords(value);
}

const KEY_LENGTH_MIN = 12;
const ENTROPY_MIN = 3.5;
const SHORT_ENTROPY_MIN = 3;
const SHORT_HEX = /^(?:[a-f0-9]{16,23}|[A-F0-9]{16,23})$/;

/** Letters of both cases with digits among them, shorter than what looks random by itself: a name has its digits at the end. */
export function looksShort(value: string): boolean {
  if (value.length < KEY_LENGTH_MIN || !/^[A-Za-z0-9]+$/.test(value) || isIdentifier(value)) return false;
  const isSpread = /[A-Za-z]\d+[A-Za-z]+\d+[A-Za-z]/.test(value);
  return isSpread && classesOf(value) === 3 && entropyOf(value) >= SHORT_ENTROPY_MIN && !isMadeOfWords(value);
}

/** Whether a value beside the name of a key may be one. */
export function mayBeKey(value: string): boolean {
  if (value.length < KEY_LENGTH_MIN || /\s/.test(value) || isIdentifier(value)) return false;
  if (/^[A-Za-z]+$/.test(value) && !areRandomLetters(value) && !(/[a-z][A-Z]/.test(value) && entropyOf(value) >= 4))
    return false;
  if (SHORT_HEX.test(value)) return /[A-Fa-f]/.test(value) && /\d/.test(value);
  return entropyOf(value) >= ENTROPY_MIN || isRandomHex(value) || looksRandom(value) || looksShort(value);
}

/** Whether a value beside the name of a password may be one. */
export function mayBePassword(value: string, isQuoted: boolean): boolean {
  // A sentence about passwords goes on with words; a password that is only lower-case letters is accepted if it is quoted.
  if (/^\p{L}+$/u.test(value)) return isQuoted && value.length >= 8 && entropyOf(value) >= 2.5;
  if (/^[a-z]+(?:[-_/.][a-z]+)*$/.test(value) && !isQuoted) return false;
  if (isQuoted && /\s/.test(value) && !/\d/.test(value) && value.split(/\s+/).length < 4) return false;
  return classesOf(value) >= 2 || entropyOf(value) >= 3;
}
