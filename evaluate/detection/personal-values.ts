import type { Draws } from '../anomalies/random.ts';
import { text } from './secret-values.ts';

/**
 * Personal data and facts about a network. Check digits are computed here by the issuers' own descriptions, not with the redactor's code; where
 * these describe a test instead of a digit, digits are tried until the test holds.
 */

const DIGITS = '0123456789';

export interface PersonalKind {
  readonly name: string;
  readonly make: (draws: Draws) => string;
  /** How a form or a person calls it, in each language, or in all. */
  readonly noun: string;
  readonly variable: string;
}

function sum(digits: string, weightAt: (place: number) => number): number {
  let total = 0;
  for (let place = 0; place < digits.length; place++) total += Number(digits[place]) * weightAt(place);
  return total;
}

/** The digit that completes a number, by trial. */
function completed(body: string, holds: (whole: string) => boolean): string | null {
  for (const digit of DIGITS) if (holds(body + digit)) return body + digit;
  return null;
}

/** Draws bodies until one can be completed. */
function until<T>(draw: () => T | null): T {
  for (;;) {
    const drawn = draw();
    if (drawn !== null) return drawn;
  }
}

function luhnSum(digits: string): number {
  let total = 0;
  let isDoubled = false;
  for (let place = digits.length - 1; place >= 0; place--) {
    const doubled = Number(digits[place]) * (isDoubled ? 2 : 1);
    total += Math.floor(doubled / 10) + (doubled % 10);
    isDoubled = !isDoubled;
  }
  return total;
}

const withLuhn = (body: string) => completed(body, (whole) => luhnSum(whole) % 10 === 0) ?? '';

function card(draws: Draws): string {
  const number = draws.pick([
    () => withLuhn(`4${text(draws, DIGITS, 14)}`),
    () => withLuhn(`5${draws.whole(1, 5)}${text(draws, DIGITS, 13)}`),
    () => withLuhn(`3${draws.pick(['4', '7'])}${text(draws, DIGITS, 12)}`),
  ])();
  if (number.length === 15) return draws.chance(0.5) ? number : number.replace(/^(.{4})(.{6})(.{5})$/, '$1 $2 $3');
  return draws.pick([number, number.replace(/(.{4})(?=.)/g, '$1 '), number.replace(/(.{4})(?=.)/g, '$1-')]);
}

const IBANS: readonly [country: string, form: string][] = [
  ['DE', '99999999 9999999999'],
  ['FR', '9999999999 AAAAAAAAAAA 99'],
  ['ES', '99999999999999999999'],
  ['NL', 'AAAA9999999999'],
  ['IT', 'A9999999999999999999999'],
  ['PL', '999999999999999999999999'],
  ['GB', 'AAAA99999999999999'],
  ['PT', '999999999999999999999'],
];

function iban(draws: Draws): string {
  const [country, form] = draws.pick(IBANS);
  const account = [...form.replaceAll(' ', '')]
    .map((sign) => text(draws, sign === '9' ? DIGITS : 'ABCDEFGHKLMNPRST', 1))
    .join('');
  const numeric = [...`${account}${country}00`].map((sign) => Number.parseInt(sign, 36)).join('');
  const check = String(98n - (BigInt(numeric) % 97n)).padStart(2, '0');
  const whole = `${country}${check}${account}`;
  return draws.chance(0.5) ? whole : whole.replace(/(.{4})(?=.)/g, '$1 ');
}

const two = (number: number) => String(number).padStart(2, '0');
const date = (draws: Draws) => ({ year: draws.whole(1950, 1999), month: draws.whole(1, 12), day: draws.whole(1, 28) });

function germanTaxId(draws: Draws): string {
  return until(() => {
    const chosen = draws.some([...DIGITS], 9);
    const doubled = draws.pick(chosen);
    const body = draws.some([...chosen, doubled], 10).join('');
    if (body.startsWith('0')) return null;
    let product = 10;
    for (const digit of body) {
      let step = (Number(digit) + product) % 10;
      if (step === 0) step = 10;
      product = (step * 2) % 11;
    }
    return `${body}${product === 1 ? 0 : 11 - product}`;
  });
}

function italianTaxCode(draws: Draws): string {
  const consonants = 'BCDFGLMNPRSTV';
  const { year, month, day } = date(draws);
  const body = `${text(draws, consonants, 6)}${two(year % 100)}${'ABCDEHLMPRST'[month - 1]}${two(day)}${draws.pick(['H501', 'F205', 'L219', 'D612'])}`;
  const odd: Record<string, number> = { 0: 1, 1: 0, 2: 5, 3: 7, 4: 9, 5: 13, 6: 15, 7: 17, 8: 19, 9: 21 };
  const letters = 'BAKPLCQDREVOSFTGUHMINJWZYX';
  // The table of odd places, in the order of its values for letters.
  const values = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25];
  for (const [at, letter] of [...letters].entries()) odd[letter] = values[at] ?? 0;
  let total = 0;
  for (const [at, sign] of [...body].entries()) {
    const even = Number.isNaN(Number(sign)) ? sign.charCodeAt(0) - 65 : Number(sign);
    total += at % 2 === 0 ? (odd[sign] ?? 0) : even;
  }
  return `${body}${String.fromCharCode(65 + (total % 26))}`;
}

function cpf(draws: Draws): string {
  const body = text(draws, DIGITS, 9);
  const first = ((sum(body, (place) => 10 - place) * 10) % 11) % 10;
  const second = ((sum(`${body}${first}`, (place) => 11 - place) * 10) % 11) % 10;
  return `${body}${first}${second}`.replace(/^(...)(...)(...)(..)$/, '$1.$2.$3-$4');
}

function pesel(draws: Draws): string {
  const { year, month, day } = date(draws);
  const body = `${two(year % 100)}${two(month)}${two(day)}${text(draws, DIGITS, 4)}`;
  const weights = '1379137913';
  return `${body}${(10 - (sum(body, (place) => Number(weights[place])) % 10)) % 10}`;
}

function frenchNir(draws: Draws): string {
  const { year, month } = date(draws);
  const body = `${draws.pick(['1', '2'])}${two(year % 100)}${two(month)}${two(draws.whole(1, 95))}${text(draws, DIGITS, 6)}`;
  const whole = body + two(97 - Number(BigInt(body) % 97n));
  return draws.chance(0.5) ? whole : whole.replace(/^(.)(..)(..)(..)(...)(...)(..)$/, '$1 $2 $3 $4 $5 $6 $7');
}

const privateIp = (draws: Draws) =>
  draws.pick([
    () => `10.${draws.whole(0, 255)}.${draws.whole(0, 255)}.${draws.whole(1, 254)}`,
    () => `172.${draws.whole(16, 31)}.${draws.whole(0, 255)}.${draws.whole(1, 254)}`,
    () => `192.168.${draws.whole(0, 255)}.${draws.whole(1, 254)}`,
  ])();

const FIRST = ['anna', 'marek', 'lucia', 'jan', 'sofie', 'paulo', 'ines', 'tomasz', 'claire', 'd.rossi', 'k_mueller'];
const HOSTS = ['db-master', 'billing', 'jenkins', 'ldap01', 'vpn-gw', 'hr-portal', 'wiki', 'ns2.dc1', 'payroll.eu'];

export const PERSONAL_KINDS: readonly PersonalKind[] = [
  {
    name: 'e-mail address',
    variable: 'OWNER_EMAIL',
    noun: 'e-mail',
    make: (d) =>
      `${d.pick(FIRST)}${d.whole(1, 99)}@${d.pick(['contoso', 'acme-corp', 'nordwind', 'globex'])}.${d.pick(['com', 'de', 'co.uk', 'io', 'pl', 'com.br'])}`,
  },
  {
    name: 'phone number',
    variable: 'ONCALL_PHONE',
    noun: 'phone',
    make: (d) =>
      `+${d.pick(['49 30', '33 1', '34 91', '44 20', '48 22', '351 21'])} ${d.whole(200, 999)} ${d.whole(10, 99)} ${d.whole(10, 99)}${d.whole(0, 9)}`,
  },
  {
    name: 'phone number, North America',
    variable: 'SUPPORT_PHONE',
    noun: 'phone',
    make: (d) =>
      d.pick([
        (a: number, b: number, c: number) => `(${a}) ${b}-${c}`,
        (a: number, b: number, c: number) => `${a}-${b}-${c}`,
      ])(d.whole(201, 989), d.whole(200, 999), d.whole(1000, 9999)),
  },
  { name: 'payment card', variable: 'TEST_CARD', noun: 'card', make: card },
  { name: 'IBAN', variable: 'PAYOUT_IBAN', noun: 'IBAN', make: iban },
  {
    name: 'US social security number',
    variable: 'SSN',
    noun: 'SSN',
    make: (d) =>
      `${d.pick([two(d.whole(1, 66)).padStart(3, '0'), String(d.whole(667, 899))])}-${two(d.whole(1, 99))}-${d.whole(1000, 9999)}`,
  },
  {
    name: 'UK national insurance number',
    variable: 'NINO',
    noun: 'National Insurance number',
    make: (d) =>
      `${d.pick(['AB', 'CE', 'JK', 'PR', 'SX', 'WM'])}${d.pick(['', ' '])}${text(d, DIGITS, 6)}${d.pick(['A', 'B', 'C', 'D'])}`,
  },
  { name: 'German tax id', variable: 'STEUER_ID', noun: 'Steuer-ID', make: germanTaxId },
  { name: 'French social security number', variable: 'NIR', noun: 'numéro de sécurité sociale', make: frenchNir },
  {
    name: 'Spanish DNI',
    variable: 'DNI',
    noun: 'DNI',
    make: (d) => {
      const n = d.whole(10_000_000, 99_999_999);
      return `${n}${'TRWAGMYFPDXBNJZSQVHLCKE'.charAt(n % 23)}`;
    },
  },
  { name: 'Italian tax code', variable: 'CODICE_FISCALE', noun: 'codice fiscale', make: italianTaxCode },
  { name: 'Brazilian CPF', variable: 'CPF', noun: 'CPF', make: cpf },
  {
    name: 'Dutch BSN',
    variable: 'BSN',
    noun: 'BSN',
    make: (d) =>
      until(() =>
        completed(
          text(d, '123456789', 8),
          (whole) => (sum(whole.slice(0, 8), (place) => 9 - place) - Number(whole[8])) % 11 === 0,
        ),
      ),
  },
  { name: 'Polish PESEL', variable: 'PESEL', noun: 'PESEL', make: pesel },
  { name: 'internal IPv4 address', variable: 'DB_HOST', noun: 'host', make: privateIp },
  {
    name: 'carrier-grade NAT address',
    variable: 'NODE_IP',
    noun: 'node',
    make: (d) => `100.${d.whole(64, 127)}.${d.whole(0, 255)}.${d.whole(1, 254)}`,
  },
  {
    name: 'unique local IPv6 address',
    variable: 'CLUSTER_IP',
    noun: 'node',
    make: (d) =>
      `fd${text(d, '0123456789abcdef', 2)}:${text(d, '123456789abcdef', 4)}:${text(d, '123456789abcdef', 4)}::${text(d, '123456789abcdef', 2)}`,
  },
  {
    name: 'internal host name',
    variable: 'UPSTREAM',
    noun: 'server',
    make: (d) => `${d.pick(HOSTS)}.${d.pick(['internal', 'corp', 'lan', 'local', 'acme.internal', 'office.corp'])}`,
  },
];
