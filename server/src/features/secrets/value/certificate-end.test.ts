import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testAuthority } from '../../../../../test/support/test-authority.ts';
import { pemOf } from '../../certificates/x509.ts';
import { certificateEnd } from './certificate-end.ts';

const END = Date.parse('2031-02-03T04:05:06Z');
const authority = await testAuthority({ notAfter: END + 1000 });
const leaf = await authority.issue({ notAfter: END });

test('the end of a value is that of its first certificate, wherever the key is', async () => {
  const key = await leaf.keyPem();
  for (const value of [
    leaf.pem,
    `${leaf.pem}\n${authority.pem}`,
    `${key}\n${leaf.pem}\n${authority.pem}`,
    `${leaf.pem}\n${authority.pem}\n${key}`,
    `text before\r\n${leaf.pem.replaceAll('\n', '\r\n')}\r\n`,
  ]) {
    assert.equal(certificateEnd(value), END);
  }
  assert.equal(certificateEnd(`${authority.pem}\n${leaf.pem}`), END + 1000);
});

test('an end may be long past, or as late as a certificate can say', async () => {
  for (const text of ['1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z']) {
    const notAfter = Date.parse(text);
    assert.equal(certificateEnd((await testAuthority({ notBefore: notAfter - 1000, notAfter })).pem), notAfter);
  }
});

test('what is no certificate, or has an end that is no time, has no end', async () => {
  const der = Buffer.from(leaf.der);
  der.write('319999999999Z', der.indexOf('310203040506Z'), 'latin1');
  for (const value of [
    '',
    'no PEM',
    await leaf.keyPem(),
    leaf.pem.slice(0, -5),
    leaf.pem.replace('MII', '!!!'),
    pemOf('CERTIFICATE', Buffer.from('no DER')),
    pemOf('CERTIFICATE', der),
  ]) {
    assert.equal(certificateEnd(value), null);
  }
});
