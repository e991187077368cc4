import list from './common-passwords.json' with { type: 'json' };

const COMMON: ReadonlySet<string> = new Set(list.words.split(' '));

/** Letters that people replace by something that looks alike. */
const LOOKS_LIKE: Record<string, string> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
};
const UNIT_LENGTH_MAX = 11;

/**
 * Whether a password is one of the first that a guesser tries: a common one, perhaps with replaced letters, with digits and signs around it, or
 * several times in a row.
 */
export function isCommonPassword(password: string): boolean {
  const lower = password.toLowerCase();
  const forms = [lower, letters(lower), letters(core(lower))];
  return forms.some((form) => COMMON.has(form) || COMMON.has(core(form)) || isRepeated(form)) || isCounting(lower);
}

function letters(form: string): string {
  return form.replace(/[013457@$!]/g, (sign) => LOOKS_LIKE[sign] ?? sign);
}

/** Without what is not a letter at both ends. */
function core(form: string): string {
  let start = 0;
  let end = form.length;
  while (start < end && !isLetter(form.charCodeAt(start))) start++;
  while (end > start && !isLetter(form.charCodeAt(end - 1))) end--;
  return form.slice(start, end);
}

const isLetter = (code: number) => code >= 0x61 && code <= 0x7a;

/** Whether it is one short unit again and again, such as abcabcabcabc. */
function isRepeated(form: string): boolean {
  for (let length = 1; length <= Math.min(UNIT_LENGTH_MAX, form.length / 2); length++) {
    const unit = form.slice(0, length);
    if (unit.repeat(Math.ceil(form.length / length)).startsWith(form) && (length <= 4 || COMMON.has(unit))) return true;
  }
  return false;
}

/** Whether each character follows the one before, up or down, as in 123456789012 or abcdefghijkl. */
function isCounting(form: string): boolean {
  const steps = new Set<number>();
  for (let i = 1; i < form.length; i++) {
    const step = form.charCodeAt(i) - form.charCodeAt(i - 1);
    // After 9 people go on with 0 or 1.
    steps.add(step === -9 || step === -8 ? 1 : step === 9 || step === 8 ? -1 : step);
  }
  const [step = 0] = steps;
  return steps.size === 1 && Math.abs(step) <= 1;
}
