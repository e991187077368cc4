import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { test } from 'node:test';
import { type CertificateHeader, forwardedCertificate } from './forwarded-certificate.ts';

const DER = Buffer.from('a certificate, as far as headers are concerned');
const ITEM = `:${DER.toString('base64')}:`;
const PEM = `-----BEGIN CERTIFICATE-----\n${DER.toString('base64').replaceAll(/(.{24})/g, '$1\n')}\n-----END CERTIFICATE-----\n`;
const ESCAPED = encodeURIComponent(PEM);

function read(header: CertificateHeader, headers: IncomingHttpHeaders) {
  const read = forwardedCertificate(headers, header);
  return typeof read === 'string' ? read : [read.der, ...read.chain].map((der) => Buffer.from(der).toString());
}

test('RFC 9440: a byte sequence, and a list of them for the chain', () => {
  assert.deepEqual(read('client-cert', { 'client-cert': ITEM }), [DER.toString()]);
  const chain = `:${Buffer.from('one').toString('base64')}: , :${Buffer.from('two').toString('base64')}:`;
  assert.deepEqual(read('client-cert', { 'client-cert': ITEM, 'client-cert-chain': chain }), [
    DER.toString(),
    'one',
    'two',
  ]);
});

test('nginx: escaped PEM', () => {
  assert.deepEqual(read('x-client-cert', { 'x-client-cert': ESCAPED }), [DER.toString()]);
  assert.deepEqual(read('x-client-cert', { 'x-client-cert': ESCAPED.replace(/%0A$/, '') }), [DER.toString()]);
});

test('absent or empty means that the proxy saw none', () => {
  for (const header of ['client-cert', 'x-client-cert'] as const) {
    assert.equal(read(header, {}), 'none');
    assert.equal(read(header, { [header]: '' }), 'none');
  }
});

test('only the configured header is read: the other one may come from the client', () => {
  assert.equal(read('client-cert', { 'x-client-cert': ESCAPED }), 'none');
  assert.equal(read('x-client-cert', { 'client-cert': ITEM, 'client-cert-chain': ITEM }), 'none');
});

test('anything else is malformed, which is not the same as none', () => {
  const items = [
    'x',
    '::',
    ':x',
    `${ITEM}x`,
    `${ITEM}, ${ITEM}`,
    DER.toString('base64'),
    `:${DER.toString('base64url')}:`,
  ];
  for (const item of [...items, ':YQ:', ':YR==:', '(null)', ESCAPED]) {
    assert.equal(read('client-cert', { 'client-cert': item }), 'malformed', item);
  }
  assert.equal(read('client-cert', { 'client-cert-chain': ITEM }), 'malformed', 'a chain of nothing');
  assert.equal(read('client-cert', { 'client-cert': ITEM, 'client-cert-chain': `${ITEM},` }), 'malformed');
  assert.equal(read('client-cert', { 'client-cert': ITEM, 'client-cert-chain': `\u00a0${ITEM}` }), 'malformed');
  for (const text of ['%', '%E0%A4%A', ESCAPED + ESCAPED, `x${ESCAPED}`, `${ESCAPED}, ${ESCAPED}`, ITEM, '(null)']) {
    assert.equal(read('x-client-cert', { 'x-client-cert': text }), 'malformed', text);
  }
});
