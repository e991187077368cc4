import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseReference, REFERENCES_IN_TEXT, valueAt } from './reference.ts';

test('a reference has a vault, a path, and perhaps a version and a pointer', () => {
  assert.deepEqual(parseReference('coffer://shop/db/password'), { vault: 'shop', path: 'db/password' });
  assert.deepEqual(parseReference('coffer://shop/db?version=3#/user/name'), {
    vault: 'shop',
    path: 'db',
    version: 3,
    pointer: '/user/name',
  });
  assert.deepEqual(parseReference('coffer://shop/db#user'), { vault: 'shop', path: 'db', pointer: '/user' });
});

test('anything else is refused, and says what one looks like', () => {
  const wrong = [
    '',
    'shop/db',
    'coffer://',
    'coffer://shop',
    'coffer://shop/',
    'coffer:///db',
    'coffer://shop//db',
    'coffer://shop/db/',
    'coffer://shop/db?version=0',
    'coffer://shop/db?version=x',
    'coffer://shop/db?other=1',
    'coffer://shop/d b',
    'coffer://../db',
    'https://shop/db',
  ];
  for (const text of wrong) {
    assert.throws(() => parseReference(text), { code: 'INVALID_ARGUMENT', message: /coffer:\/\/vault\/path/ }, text);
  }
});

test('references are found in a text, without the punctuation around them', () => {
  const found = (text: string) => text.match(REFERENCES_IN_TEXT) ?? [];
  assert.deepEqual(found('url=coffer://shop/db/url?version=2#/host, and "coffer://shop/key".'), [
    'coffer://shop/db/url?version=2#/host',
    'coffer://shop/key',
  ]);
  assert.deepEqual(found('coffer://shop and coffer:// are none'), []);
});

test('a pointer leads to a text as it is, or to JSON', () => {
  const value = JSON.stringify({ user: 'ada', 'a/b': { '~': [1, { x: true }] }, empty: '' });
  assert.equal(valueAt(value, '/user', 'x'), 'ada');
  assert.equal(valueAt(value, '/a~1b/~0/1', 'x'), '{"x":true}');
  assert.equal(valueAt(value, '/empty', 'x'), '');
  for (const pointer of ['/none', '/user/0', '/constructor', '/__proto__', '/a~1b/~0/2']) {
    assert.throws(() => valueAt(value, pointer, 'shop/db'), { code: 'INVALID_ARGUMENT' }, pointer);
  }
});

test('an error about a value that is not JSON does not quote it', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{8,40}$/), (value) => {
      assert.throws(
        () => valueAt(value, '/x', 'shop/db'),
        (error: Error) => !error.message.includes(value),
      );
    }),
  );
});
