import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cookieNamed, isSameOrigin } from './browser-session.ts';

test('a request is of the same origin if the browser says so, whatever else it sends', () => {
  const host = 'coffer.example';
  assert.equal(isSameOrigin({ host, 'sec-fetch-site': 'same-origin', origin: 'null' }), true);
  for (const site of ['cross-site', 'same-site', 'none', '', 'Same-Origin']) {
    assert.equal(isSameOrigin({ host, 'sec-fetch-site': site, origin: `https://${host}` }), false, site);
  }
});

test('a browser that does not say so must name the host as its origin, by HTTP', () => {
  const host = 'coffer.example:8443';
  for (const origin of [`https://${host}`, `http://${host}`])
    assert.equal(isSameOrigin({ host, origin }), true, origin);
  assert.equal(isSameOrigin({ host: 'COFFER.example:8443', origin: `https://${host}` }), true);
  const others = [
    'https://coffer.example',
    'https://coffer.example:8444',
    'https://evil.example:8443',
    `ftp://${host}`,
    `chrome-extension://${host}`,
    `app://${host}`,
    `ws://${host}`,
    'null',
    '',
  ];
  for (const origin of others) assert.equal(isSameOrigin({ host, origin }), false, origin);
  assert.equal(isSameOrigin({ host }), false);
  assert.equal(isSameOrigin({ origin: `https://${host}` }), false);
});

test('a cookie is found by exactly its name', () => {
  const read = (header: string) => cookieNamed(header, '__Host-a', 10);
  assert.equal(read('__Host-a=1'), '1');
  assert.equal(read('b=2;\t __Host-a=1 ; c=3'), '1');
  for (const before of ['\u00a0', '\u0085', '\u00c2\u00a0', '\v', '\f', '\ufeff', 'x', '=', '"']) {
    assert.equal(read(`${before}__Host-a=1`), null, JSON.stringify(before));
    assert.equal(read(`b=2; ${before}__Host-a=1`), null, JSON.stringify(before));
    // It is no second one either: another program on the host could end sessions by it.
    assert.equal(read(`__Host-a=1; ${before}__Host-a=2`), '1', JSON.stringify(before));
  }
  for (const none of [
    '',
    '__host-a=1',
    '__Host-a =1',
    '__Host-a',
    '__Host-a=',
    '__Host-a=12345678901',
    '__Host-a=1; __Host-a=1',
  ])
    assert.equal(read(none), null, none);
});
