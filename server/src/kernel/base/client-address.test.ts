import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { clientAddress, MAX_FORWARDED_HOPS, trustProxies, UNKNOWN_ADDRESS } from './client-address.ts';

const NOBODY = trustProxies([]);
const PROXIES = trustProxies(['10.0.0.0/8', '2001:db8:f::/48']);

test('without a trusted proxy the header is ignored, whatever it says', () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.oneof(fc.ipV4(), fc.string()), (peer, header) => {
      assert.equal(clientAddress(peer, header, NOBODY), peer);
    }),
  );
  assert.equal(clientAddress('192.0.2.1', '198.51.100.7', PROXIES), '192.0.2.1');
  assert.equal(clientAddress('192.0.2.1', ['198.51.100.7'], PROXIES), '192.0.2.1');
});

test('behind trusted proxies the client is the first untrusted hop from the right', () => {
  assert.equal(clientAddress('10.0.0.1', '198.51.100.7', PROXIES), '198.51.100.7');
  assert.equal(clientAddress('10.0.0.1', '198.51.100.7, 10.0.0.2,10.0.0.3', PROXIES), '198.51.100.7');
  assert.equal(clientAddress('::ffff:10.0.0.1', '2001:DB8:0::7', PROXIES), '2001:db8::7');
  assert.equal(clientAddress('2001:db8:f::1', '::ffff:198.51.100.7', PROXIES), '198.51.100.7');
  assert.equal(clientAddress('10.0.0.1', ['1.1.1.1', '198.51.100.7, 10.0.0.2'], PROXIES), '198.51.100.7');
});

test('what stands left of the real client is never believed', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 60 }), (spoofed) => {
      assert.equal(clientAddress('10.0.0.1', `${spoofed},198.51.100.7, 10.0.0.2`, PROXIES), '198.51.100.7');
    }),
  );
});

test('garbage ends the walk at the trusted proxy that passed it on', () => {
  const garbage = [
    '',
    ' ',
    ',',
    'unknown',
    '198.51.100.7:4711',
    '[2001:db8::7]',
    '010.1.1.1',
    '1.1',
    'fe80::1%eth0',
    'x',
    '\u00a0198.51.100.7',
    '10.0.0.3\u00a0',
  ];
  for (const entry of garbage) {
    assert.equal(clientAddress('10.0.0.1', entry, PROXIES), '10.0.0.1', entry);
    assert.equal(clientAddress('10.0.0.1', `203.0.113.9, ${entry}, 10.0.0.2`, PROXIES), '10.0.0.2', entry);
  }
  assert.equal(clientAddress('10.0.0.1', ',10.0.0.2', PROXIES), '10.0.0.2');
});

test('when every hop is trusted the leftmost is the client', () => {
  assert.equal(clientAddress('10.0.0.1', '10.0.0.3, 10.0.0.2', PROXIES), '10.0.0.3');
});

test('a chain longer than the bound stops inside it', () => {
  const hops = Array.from({ length: MAX_FORWARDED_HOPS + 1 }, (_, index) => `10.0.1.${MAX_FORWARDED_HOPS - index}`);
  assert.equal(clientAddress('10.0.0.1', `198.51.100.7,${hops.join(',')}`, PROXIES), '10.0.1.31');
});

test("the peer's own address is canonical, also without proxies", () => {
  assert.equal(clientAddress('::ffff:127.0.0.1', undefined, NOBODY), '127.0.0.1');
  assert.equal(clientAddress('::1', undefined, NOBODY), '::1');
  assert.equal(clientAddress('fe80::1%eth0', undefined, NOBODY), 'fe80::1');
  assert.equal(clientAddress('', '198.51.100.7', PROXIES), UNKNOWN_ADDRESS);
});

test('a list of proxies that does not parse stops the start', () => {
  assert.throws(() => trustProxies(['10.0.0.0/8', 'proxy.example']), TypeError);
});
