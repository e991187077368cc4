import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { covers, parseAddress, parseCidr } from './address.ts';

function isIn(range: string, ip: string): boolean | null {
  const cidr = parseCidr(range);
  assert.ok(typeof cidr !== 'string', `${range}: ${cidr}`);
  const address = parseAddress(ip);
  return address === null ? null : covers(cidr, address);
}

describe('ranges', () => {
  const rows: [range: string, ip: string, inside: boolean | null][] = [
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['203.0.113.7/32', '203.0.113.7', true],
    ['203.0.113.7/32', '203.0.113.6', false],
    ['203.0.113.64/26', '203.0.113.127', true],
    ['203.0.113.64/26', '203.0.113.128', false],
    ['0.0.0.0/0', '8.8.8.8', true],
    ['0.0.0.0/0', '::1', false],
    ['::/0', '8.8.8.8', false],
    ['::/0', '2001:db8::1', true],
    ['2001:db8::/33', '2001:db8:7fff::1', true],
    ['2001:db8::/33', '2001:db8:8000::1', false],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['10.0.0.0/8', '::ffff:a01:203', true],
    ['10.0.0.0/8', '::ffff:11.1.2.3', false],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['fe80::/10', 'fe80::1%eth-0.1', true],
    ['10.0.0.0/8', '10.1', null],
    ['10.0.0.0/8', '012.0.0.1', null],
    ['10.0.0.0/8', '0x0a000001', null],
    ['10.0.0.0/8', '10.0.0.1 ', null],
    ['10.0.0.0/8', '', null],
    ['10.0.0.0/8', '10.0.0.1:443', null],
  ];
  for (const [range, ip, expected] of rows) {
    test(`${range} and ${JSON.stringify(ip)}: ${expected}`, () => assert.equal(isIn(range, ip), expected));
  }

  const refused = [
    '',
    '10.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/8 ',
    ' 10.0.0.0/8',
  ];
  refused.push('10.0.0.1/8', '10/8', '10.0.0/8', '010.0.0.0/8', '::/129', '2001:db8::1/64', '::ffff:10.0.0.0/104');
  refused.push('fe80::%eth0/10', '10.0.0.0/8/8', '10.0.0.0/255.0.0.0', 'example.com/8', '*/0', '0x0a.0.0.0/8', ':/0');
  for (const text of refused) {
    test(`${JSON.stringify(text)} is refused`, () => assert.equal(typeof parseCidr(text), 'string'));
  }
});

test('every address is read as what it is, and arbitrary text never throws', () => {
  const like = fc.string({ unit: fc.constantFrom('0', '1', 'f', ':', '.', '/', '%', '-'), maxLength: 24 });
  fc.assert(
    fc.property(fc.ipV4(), fc.ipV6(), like, (four, six, text) => {
      assert.equal(isIn(`${four}/32`, four), true);
      assert.equal(isIn(`${four}/32`, `::ffff:${four}`), true);
      assert.equal(parseAddress(six)?.length === 16 || parseAddress(six)?.length === 4, true);
      assert.doesNotThrow(() => [parseCidr(text), parseAddress(text), parseAddress(`${six}%${text}`)]);
    }),
    { numRuns: 2_000 },
  );
});
