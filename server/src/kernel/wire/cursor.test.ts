import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CofferError } from '../base/errors.ts';
import { CURSOR_LENGTH_MAX, decodeCursor, encodeCursor, pageOf } from './cursor.ts';

test('a cursor comes back as it went out', () => {
  const key = fc.array(fc.string(), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(key, (parts) => {
      const cursor = encodeCursor(parts);
      if (cursor.length <= CURSOR_LENGTH_MAX) assert.deepEqual(decodeCursor(cursor, ...parts.map(() => /^/)), parts);
    }),
  );
  assert.equal(decodeCursor(undefined, /^/), null);
});

test('anything else is refused, never guessed at', () => {
  const one = encodeCursor(['a']);
  const bad = [
    '',
    'x',
    '!!!!',
    `${one}=`,
    `${one}A`,
    encodeCursor(['a', 'b']),
    Buffer.from('[1]').toString('base64url'),
  ];
  bad.push(
    Buffer.from('["a" ]').toString('base64url'),
    Buffer.from('{"0":"a"}').toString('base64url'),
    'A'.repeat(CURSOR_LENGTH_MAX + 88),
  );
  for (const cursor of bad) assert.throws(() => decodeCursor(cursor, /^a$/), CofferError, cursor);
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        assert.equal(encodeCursor(decodeCursor(text, /^/) ?? []), text);
      } catch (error) {
        assert.ok(error instanceof CofferError);
      }
    }),
  );
});

test('a page says whether there is more, and from where', () => {
  const key = (n: number) => [String(n)];
  assert.deepEqual(pageOf([1, 2], 2, key), { rows: [1, 2], next_cursor: null });
  assert.deepEqual(pageOf([1, 2, 3], 2, key), { rows: [1, 2], next_cursor: encodeCursor(['2']) });
  assert.deepEqual(pageOf([], 2, key), { rows: [], next_cursor: null });
});
