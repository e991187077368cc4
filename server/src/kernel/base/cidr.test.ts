import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cidrContains, parseAddress, parseCidr } from './cidr.ts';

function contains(cidr: string, address: string): boolean {
  const parsed = parseCidr(cidr);
  assert.ok(parsed, cidr);
  return cidrContains(parsed, address);
}

test('a range has one spelling, whatever host bits were written', () => {
  const spellings: [string, string][] = [
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['10.1.2.3', '10.1.2.3/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['255.255.255.255/31', '255.255.255.254/31'],
    ['2001:DB8:0:0::5/32', '2001:db8::/32'],
    ['::1', '::1/128'],
    ['::/0', '::/0'],
    ['::ffff:10.1.2.3/104', '10.0.0.0/8'],
    ['::ffff:10.1.2.3', '10.1.2.3/32'],
  ];
  for (const [written, canonical] of spellings) assert.equal(parseCidr(written)?.text, canonical, written);
});

test('other spellings of an address or a prefix are refused', () => {
  const refused = [
    ...['', '/', '/8', '10.0.0.0/', '10.0.0.0/33', '10.0.0.0/08', '10.0.0.0/-1', '10.0.0.0/+8', '10.0.0.0/8/8'],
    ...['10.0.0.0/255.0.0.0', '10.0.0.0/1e1', '10.0.0.0/8 ', ' 10.0.0.0/8', '::/129', '::/8x', '::ffff:10.0.0.0/8'],
    ...['010.0.0.1', '0x0a.0.0.1', '10.1', '167772161', '10.0.0.256', '10.0.0.1.1', '1.2.3.4\n', 'localhost', '*'],
    ...['fe80::1%eth0', 'fe80::1%eth0/64', '[::1]', '1::2::3', '::ffff:1.2.3.04', '１０.0.0.1'],
  ];
  for (const text of refused) assert.equal(parseCidr(text), null, JSON.stringify(text));
});

test('addresses are canonical and mapped ones unwrapped', () => {
  assert.equal(parseAddress('::FFFF:7f00:1')?.text, '127.0.0.1');
  assert.equal(parseAddress('2001:0DB8:0000:0000:0001::0001')?.text, '2001:db8::1:0:0:1');
  assert.equal(parseAddress('10.0.0.0/8'), null);
});

test('containment stays inside the family and respects every bit', () => {
  assert.ok(contains('10.0.0.0/8', '10.255.0.1'));
  assert.ok(contains('10.0.0.0/8', '::ffff:10.0.0.1'));
  assert.ok(!contains('10.0.0.0/8', '11.0.0.0'));
  assert.ok(contains('192.168.0.128/25', '192.168.0.255'));
  assert.ok(!contains('192.168.0.128/25', '192.168.0.127'));
  assert.ok(!contains('0.0.0.0/0', '::1'));
  assert.ok(!contains('::/0', '1.2.3.4'));
  for (const garbage of ['', 'x', '010.0.0.1', '10.1', 'fe80::1%lo']) assert.ok(!contains('0.0.0.0/0', garbage));
});

test('a range contains exactly the addresses that share its prefix', () => {
  const octet = fc.integer({ min: 0, max: 255 });
  const bytes = fc.array(octet, { minLength: 4, maxLength: 4 });
  const bitsOf = (address: number[]) => address.map((byte) => byte.toString(2).padStart(8, '0')).join('');
  fc.assert(
    fc.property(bytes, bytes, fc.integer({ min: 0, max: 32 }), (network, address, prefixBits) => {
      const shared = bitsOf(network).slice(0, prefixBits) === bitsOf(address).slice(0, prefixBits);
      assert.equal(contains(`${network.join('.')}/${prefixBits}`, address.join('.')), shared);
    }),
  );
});

test('canonical text parses to itself', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.integer({ min: 96, max: 128 }), (address, prefixBits) => {
      const canonical = parseAddress(address);
      assert.ok(canonical);
      assert.deepEqual(parseAddress(canonical.text), canonical);
      const cidr = parseCidr(address.includes(':') ? `${address}/${prefixBits}` : `${address}/${prefixBits - 96}`);
      assert.ok(cidr);
      assert.deepEqual(parseCidr(cidr.text), cidr);
      assert.ok(cidrContains(cidr, address));
    }),
  );
});
