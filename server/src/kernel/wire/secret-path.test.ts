import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  MAX_PATH_BYTES,
  MAX_PATH_SEGMENTS,
  MAX_SEGMENT_LENGTH,
  parseSecretPath,
  RESERVED_LAST_SEGMENTS,
  SECRET_PATH_PATTERN,
  splitReservedSuffix,
} from './secret-path.ts';

const ALPHABET = [...'ABCXYZabcxyz0189._@+=-'];
const DOTS = ['.', '..'];

const segment = fc
  .string({ unit: fc.constantFrom(...ALPHABET), minLength: 1, maxLength: 24 })
  .filter((text) => !DOTS.includes(text));
const lastSegment = segment.filter((text) => !RESERVED_LAST_SEGMENTS.some((reserved) => reserved === text));
const legalPath = fc
  .tuple(fc.array(segment, { maxLength: MAX_PATH_SEGMENTS - 1 }), lastSegment)
  .map(([head, last]) => [...head, last].join('/'))
  .filter((path) => path.length <= MAX_PATH_BYTES);

function accepted(path: string): boolean {
  return parseSecretPath(path).ok;
}

/** The rule of the API contract, implemented a second time in another way. */
function isLegal(path: string): boolean {
  const segments = path.split('/');
  return (
    Buffer.byteLength(path) <= 1024 &&
    segments.length <= 32 &&
    segments.every((part) => /^[A-Za-z0-9._@+=-]{1,128}$/.test(part) && !/^\.{1,2}$/.test(part)) &&
    !/(?:^|\/)(?:versions|rotate|move|copy|rollback|restore)$/.test(path)
  );
}

test('a legal path is returned unchanged', () => {
  fc.assert(fc.property(legalPath, (path) => assert.deepEqual(parseSecretPath(path), { ok: true, path })));
});

test('arbitrary text is accepted only if it is a legal path', () => {
  const unit = fc.oneof(
    fc.constantFrom(...ALPHABET, '/', '%', '\\', '\0', '.', '..', '//'),
    fc.string({ unit: 'binary' }),
  );
  fc.assert(fc.property(fc.string({ unit }), (text) => assert.equal(accepted(text), isLegal(text))));
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => assert.equal(accepted(text), isLegal(text))));
});

test('no other spelling of a legal path is accepted', () => {
  const foreign = fc.constantFrom(
    ...['%', '%2F', '%2f', '%252F', '%2e', '%00', '\\', '\0', ' ', '\n', '\t', '?', '#', ';', ':', '*', ','],
    ...['\u2044', '\u2215', '\uff0f', '\u2024', '\uff0e', '\u0430', '\u200b', '\u202e', '\u0301', '\ufeff', '\ud800'],
    ...['//', '/./', '/../', '/.//', '/%2e%2e/'],
  );
  fc.assert(
    fc.property(legalPath, foreign, fc.nat(), (path, insert, position) => {
      const at = position % (path.length + 1);
      const spelled = path.slice(0, at) + insert + path.slice(at);
      assert.equal(accepted(spelled), false, JSON.stringify(spelled));
    }),
  );
  fc.assert(
    fc.property(legalPath, fc.constantFrom('/', '../http/', '../', '%2F', '\\'), (path, edge) => {
      assert.equal(accepted(edge + path), false);
      assert.equal(accepted(path + [...edge].reverse().join('')), false);
      assert.equal(accepted(`${path}/.`), false);
      assert.equal(accepted(`${path}/..`), false);
    }),
  );
});

test('bounds are exact', () => {
  assert.ok(accepted('a'.repeat(MAX_SEGMENT_LENGTH)));
  assert.ok(!accepted('a'.repeat(MAX_SEGMENT_LENGTH + 1)));
  assert.ok(accepted(Array(MAX_PATH_SEGMENTS).fill('a').join('/')));
  assert.ok(
    !accepted(
      Array(MAX_PATH_SEGMENTS + 1)
        .fill('a')
        .join('/'),
    ),
  );
  const longest = `${`${'a'.repeat(127)}/`.repeat(7)}${'a'.repeat(128)}`;
  assert.equal(longest.length, MAX_PATH_BYTES);
  assert.ok(accepted(longest));
  assert.ok(!accepted(`a${longest.slice(0, 100)}/${longest.slice(100)}`));
  assert.ok(!accepted(''));
  assert.ok(accepted('...'));
});

test('reserved words are refused as a last segment only, in their exact case', () => {
  for (const word of RESERVED_LAST_SEGMENTS) {
    assert.ok(!accepted(word));
    assert.ok(!accepted(`db/${word}`));
    assert.ok(accepted(`${word}/db`));
    assert.ok(accepted(`db/${word.toUpperCase()}`));
  }
});

test('a reason never repeats the path', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 8 }), (text) => {
      const result = parseSecretPath(`marker\0${text}`);
      assert.ok(!result.ok && !result.reason.includes('marker'));
    }),
  );
});

test('a verb is removed from the end once', () => {
  assert.deepEqual(splitReservedSuffix('db/password/rotate'), { path: 'db/password', suffix: 'rotate' });
  assert.deepEqual(splitReservedSuffix('db/rotate/rotate'), { path: 'db/rotate', suffix: 'rotate' });
  assert.deepEqual(splitReservedSuffix('db/password'), { path: 'db/password', suffix: null });
  assert.deepEqual(splitReservedSuffix('rotate'), { path: 'rotate', suffix: null });
  assert.deepEqual(splitReservedSuffix('db/rotate/'), { path: 'db/rotate/', suffix: null });
  fc.assert(
    fc.property(legalPath, fc.constantFrom(...RESERVED_LAST_SEGMENTS), (path, suffix) => {
      assert.deepEqual(splitReservedSuffix(`${path}/${suffix}`), { path, suffix });
      assert.deepEqual(splitReservedSuffix(path), { path, suffix: null });
    }),
  );
});

test('the pattern that the API document has takes every legal path, and no text that cannot be one', () => {
  const pattern = new RegExp(SECRET_PATH_PATTERN);
  fc.assert(fc.property(legalPath, (path) => pattern.test(path)));
  for (const text of ['', '/a', 'a/', 'a//b', 'a b', 'ä', 'a'.repeat(MAX_SEGMENT_LENGTH + 1), `${'a/'.repeat(32)}a`]) {
    assert.ok(!pattern.test(text) && !accepted(text), text);
  }
});
