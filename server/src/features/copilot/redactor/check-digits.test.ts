import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as check from './check-digits.ts';

/** Numbers that issuers, or textbooks about them, publish as examples. */
const EXAMPLES: readonly [accepts: (text: string) => boolean, valid: string][] = [
  [check.luhn, '4111111111111111'],
  [check.isIban, 'DE89370400440532013000'],
  [check.isIban, 'GB82WEST12345698765432'],
  [check.isGermanTaxId, '86095742719'],
  [check.isFrenchNir, '255081416802538'],
  [check.isSpanishId, '12345678Z'],
  [check.isSpanishId, 'X1234567L'],
  [check.isItalianTaxCode, 'RSSMRA85T10A562S'],
  [check.isBrazilianId, '11144477735'],
  [check.isBrazilianId, '11222333000181'],
  [check.isDutchBsn, '111222333'],
  [check.isPolishPesel, '44051401359'],
  [check.isSwedishId, '8112289874'],
  [check.isBelgianId, '85073003328'],
  [check.isSwissAhv, '7569217076985'],
  [check.isAadhaar, '234123412346'],
  [check.isChineseId, '11010519491231002X'],
  [check.isMyNumber, '123456789018'],
  [check.isNhsNumber, '9434765919'],
];

for (const [accepts, valid] of EXAMPLES) {
  test(`${accepts.name} accepts a published number, and no number with another last digit`, () => {
    assert.equal(accepts(valid), true, valid);
    const others = [...'0123456789'].map((digit) => valid.slice(0, -1) + digit).filter((other) => other !== valid);
    // The check digits of an IBAN and of some ids are elsewhere or two; changing the last digit still breaks them.
    for (const other of others) if (/\d$/.test(valid)) assert.notEqual(accepts(other), true, other);
  });
}

test('social security numbers that are never given out are none', () => {
  assert.ok(check.isSocialSecurityNumber('123456789'));
  for (const none of ['000123456', '666123456', '900123456', '123006789', '123450000', '078051120'])
    assert.ok(!check.isSocialSecurityNumber(none), none);
});
