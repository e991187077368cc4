/** Check digits of cards, accounts and personal ids, each as its issuer defines it. All take digits (and letters) without separators. */

const digitsOf = (text: string) => [...text].map(Number);

function weighted(digits: readonly number[], weights: readonly number[]): number {
  return weights.reduce((sum, weight, at) => sum + weight * (digits[at] ?? 0), 0);
}

/** ISO/IEC 7812-1, annex B. */
export function luhn(text: string): boolean {
  let sum = 0;
  for (const [at, digit] of digitsOf(text).reverse().entries()) {
    const doubled = at % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** ISO 7064 MOD 97-10, as ISO 13616 uses it. */
export function mod97(text: string): number {
  let rest = 0;
  for (const letter of text) {
    const value = /\d/.test(letter) ? letter : String(letter.charCodeAt(0) - 55);
    for (const digit of value) rest = (rest * 10 + Number(digit)) % 97;
  }
  return rest;
}

export function isIban(text: string): boolean {
  return mod97(text.slice(4) + text.slice(0, 4)) === 1;
}

/** German tax id: ISO 7064 MOD 11,10, and one digit of the first ten occurs twice or three times. */
export function isGermanTaxId(text: string): boolean {
  const digits = digitsOf(text);
  let product = 10;
  for (const digit of digits.slice(0, 10)) {
    const sum = (digit + product) % 10 || 10;
    product = (sum * 2) % 11;
  }
  const repeats = 10 - new Set(digits.slice(0, 10)).size;
  return (
    text.length === 11 && digits[0] !== 0 && (11 - product) % 10 === digits[10] && (repeats === 1 || repeats === 2)
  );
}

/** French NIR: 97 minus the rest of the number, where Corsica's letters stand for digits. */
export function isFrenchNir(text: string): boolean {
  const number = text.slice(0, 13).replace('2A', '19').replace('2B', '18');
  return Number(97n - (BigInt(number) % 97n)) === Number(text.slice(13));
}

const DNI_LETTERS = 'TRWAGMYFPDXBNJZSQVHLCKE';
export function isSpanishId(text: string): boolean {
  const number = text.slice(0, -1).replace(/^X/, '0').replace(/^Y/, '1').replace(/^Z/, '2');
  return DNI_LETTERS[Number(number) % 23] === text.at(-1);
}

const ODD: Readonly<Record<string, number>> = Object.fromEntries(
  [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23].flatMap(
    (value, at) => [[String.fromCharCode(65 + at), value], ...(at < 10 ? [[String(at), value] as const] : [])],
  ),
);
export function isItalianTaxCode(text: string): boolean {
  let sum = 0;
  for (const [at, letter] of [...text.slice(0, 15)].entries()) {
    const even = /\d/.test(letter) ? Number(letter) : letter.charCodeAt(0) - 65;
    sum += at % 2 === 0 ? (ODD[letter] ?? 0) : even;
  }
  return String.fromCharCode(65 + (sum % 26)) === text.at(-1);
}

/** The two check digits of a CPF or a CNPJ. */
export function isBrazilianId(text: string): boolean {
  const digits = digitsOf(text);
  const body = text.length - 2;
  const checkOf = (length: number) => {
    let sum = 0;
    for (let at = 0; at < length; at++) {
      const place = length - at;
      sum += (digits[at] ?? 0) * (text.length === 11 ? place + 1 : ((place - 1) % 8) + 2);
    }
    const rest = sum % 11;
    return rest < 2 ? 0 : 11 - rest;
  };
  return !/^(\d)\1*$/.test(text) && checkOf(body) === digits[body] && checkOf(body + 1) === digits[body + 1];
}

/** Dutch BSN: the eleven test, in which the last digit counts negative. */
export function isDutchBsn(text: string): boolean {
  return !/^0*$/.test(text) && weighted(digitsOf(text), [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0;
}

export function isPolishPesel(text: string): boolean {
  const digits = digitsOf(text);
  const month = Number(text.slice(2, 4)) % 20;
  const day = Number(text.slice(4, 6));
  const check = (10 - (weighted(digits, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10)) % 10;
  return month >= 1 && month <= 12 && day >= 1 && day <= 31 && check === digits[10];
}

/** Swedish personal number: Luhn over its last ten digits. */
export function isSwedishId(text: string): boolean {
  const last = text.slice(-10);
  const month = Number(last.slice(2, 4));
  const day = Number(last.slice(4, 6)) % 60;
  return month >= 1 && month <= 12 && day >= 1 && day <= 31 && luhn(last);
}

/** Belgian national number: 97 minus the rest; people born since 2000 have a 2 in front. */
export function isBelgianId(text: string): boolean {
  const check = Number(text.slice(9));
  const number = Number(text.slice(0, 9));
  return [number, number + 2_000_000_000].some((one) => 97 - (one % 97) === check);
}

/** Swiss AHV number: an EAN-13 that begins with 756. */
export function isSwissAhv(text: string): boolean {
  const digits = digitsOf(text);
  const sum = digits.slice(0, 12).reduce((all, digit, at) => all + digit * (at % 2 === 0 ? 1 : 3), 0);
  return text.length === 13 && (10 - (sum % 10)) % 10 === digits[12];
}

const VERHOEFF_PRODUCT = [
  '0123456789',
  '1234067895',
  '2340178956',
  '3401289567',
  '4012395678',
  '5987604321',
  '6598710432',
  '7659821043',
  '8765932104',
  '9876543210',
];
const VERHOEFF_PERMUTATION = [
  '0123456789',
  '1576283094',
  '5803796142',
  '8916043527',
  '9453126870',
  '4286573901',
  '2793806415',
  '7046913258',
];

/** Aadhaar numbers end with a Verhoeff digit and begin with 2 to 9. */
export function isAadhaar(text: string): boolean {
  let check = 0;
  for (const [at, digit] of digitsOf(text).reverse().entries()) {
    const moved = Number(VERHOEFF_PERMUTATION[at % 8]?.[digit]);
    check = Number(VERHOEFF_PRODUCT[check]?.[moved]);
  }
  return check === 0 && /^[2-9]/.test(text);
}

/** Chinese resident id: ISO 7064 MOD 11-2 over 17 digits. */
export function isChineseId(text: string): boolean {
  const sum = weighted(digitsOf(text.slice(0, 17)), [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
  return '10X98765432'[sum % 11] === text.at(-1)?.toUpperCase();
}

/** Japanese individual number. */
export function isMyNumber(text: string): boolean {
  const digits = digitsOf(text);
  const rest = weighted(digits, [6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
  return (rest <= 1 ? 0 : 11 - rest) === digits[11];
}

/** NHS number: eleven minus the weighted rest. */
export function isNhsNumber(text: string): boolean {
  const digits = digitsOf(text);
  const check = 11 - (weighted(digits, [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11);
  return check !== 10 && check % 11 === digits[9];
}

/** US social security number: areas and groups that are never given out are none, nor those of advertisements. */
export function isSocialSecurityNumber(text: string): boolean {
  const [area, group, serial] = [text.slice(0, 3), text.slice(3, 5), text.slice(5)];
  return (
    area !== '000' && area !== '666' && area < '900' && group !== '00' && serial !== '0000' && text !== '078051120'
  );
}
