import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import Type from 'typebox';
import { coerceQuery, MAX_QUERY_PAIRS, parseQuery, QueryError } from './query.ts';

const SCHEMA = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  deep: Type.Optional(Type.Boolean()),
  tags: Type.Optional(Type.Array(Type.String())),
  prefix: Type.Optional(Type.String()),
  order: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')])),
});

function coerced(query: string) {
  return coerceQuery(SCHEMA, parseQuery(`/v1/things?${query}`));
}

test('pairs are decoded once; plus is a space; empty counts as absent', () => {
  assert.deepEqual([...parseQuery('/x')], []);
  assert.deepEqual([...parseQuery('/x?')], []);
  assert.deepEqual(
    [...parseQuery('/x?a=1&b=two+words%2B&a=%252F')],
    [
      ['a', ['1', '%2F']],
      ['b', ['two words+']],
    ],
  );
  assert.deepEqual([...parseQuery('/x?a=&b&=&&c==d?e=f')], [['c', ['=d?e=f']]]);
  assert.deepEqual([...parseQuery('/x?%C3%A9=%E2%82%AC')], [['é', ['€']]]);
});

test('a query that is not percent-encoded UTF-8 is refused without repeating it', () => {
  const refused = ['%', '%2', '%zz', '%ff', '%c3', '%c0%af', '%ed%a0%80', '%00', 'a=%00', 'é', 'a b', 'a=\x7f', 'a#b'];
  for (const raw of refused) {
    assert.throws(
      () => parseQuery(`/x?marker=1&${raw}`),
      (error) => error instanceof QueryError && !error.message.includes('marker'),
      raw,
    );
  }
});

test('the number of pairs is bounded, empty ones included', () => {
  assert.equal(parseQuery(`/x?${Array(MAX_QUERY_PAIRS).fill('a=1').join('&')}`).get('a')?.length, MAX_QUERY_PAIRS);
  assert.throws(
    () =>
      parseQuery(
        `/x?${Array(MAX_QUERY_PAIRS + 1)
          .fill('a=1')
          .join('&')}`,
      ),
    QueryError,
  );
  assert.throws(() => parseQuery(`/x?${'&'.repeat(MAX_QUERY_PAIRS)}`), QueryError);
});

test('what URLSearchParams writes is read back', () => {
  const key = fc.string({ minLength: 1, unit: 'grapheme' }).filter((text) => !text.includes('\0'));
  const pairs = fc.array(fc.tuple(key, key), { maxLength: MAX_QUERY_PAIRS });
  fc.assert(
    fc.property(pairs, (written) => {
      const read = parseQuery(`/x?${new URLSearchParams(written)}`);
      for (const [name] of written) {
        const expected = written.filter(([other]) => other === name).map(([, text]) => text);
        assert.deepEqual(read.get(name), expected);
      }
    }),
  );
});

test('declared types are read strictly', () => {
  assert.deepEqual(coerced('limit=20&deep=true&prefix=%20a&order=asc&tags=a,b&tags=c'), {
    value: { limit: 20, deep: true, prefix: ' a', order: 'asc', tags: ['a', 'b', 'c'] },
    problems: [],
  });
  assert.deepEqual(coerced('limit=&deep=&tags=,&prefix').value, {});
  assert.deepEqual(coerced('limit=-5').value, { limit: -5 });
});

test('an integer has one spelling', () => {
  const spellings = [
    '1.0',
    '1e3',
    '+1',
    '01',
    '-0',
    '0x10',
    ' 1',
    '1 ',
    '1_000',
    'NaN',
    'Infinity',
    '१',
    '9'.repeat(16),
  ];
  for (const text of spellings) {
    assert.deepEqual(coerced(`limit=${encodeURIComponent(text)}`), {
      value: {},
      problems: [{ pointer: '/query/limit', reason: 'must be a whole number' }],
    });
  }
  fc.assert(
    fc.property(fc.integer({ min: -(10 ** 15 - 1), max: 10 ** 15 - 1 }), (number) => {
      assert.equal(coerced(`limit=${number}`).value['limit'], number);
    }),
  );
});

test('one value where one is meant, true or false where a flag is', () => {
  assert.deepEqual(coerced('limit=1&limit=2').problems, [{ pointer: '/query/limit', reason: 'must be given once' }]);
  assert.deepEqual(coerced('prefix=a&prefix=a').problems, [{ pointer: '/query/prefix', reason: 'must be given once' }]);
  for (const text of ['1', 'yes', 'TRUE', 'on']) {
    assert.deepEqual(coerced(`deep=${text}`).problems, [{ pointer: '/query/deep', reason: 'must be true or false' }]);
  }
});

test('an unknown parameter is a problem, named only if it is a plain word', () => {
  const unknown = (pointer: string) => ({ value: {}, problems: [{ pointer, reason: 'unknown parameter' }] });
  assert.deepEqual(coerced('limt=1'), unknown('/query/limt'));
  assert.deepEqual(coerced('a/b=1'), unknown('/query'));
  assert.deepEqual(coerced(`${'k'.repeat(65)}=1`), unknown('/query'));
  assert.deepEqual(coerced('=1'), unknown('/query'));
});

test('names of Object.prototype are ordinary unknown names', () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const { value, problems } = coerced(`${name}=1`);
    assert.deepEqual(Object.getOwnPropertyNames(value), []);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.deepEqual(problems, [{ pointer: `/query/${name}`, reason: 'unknown parameter' }]);
  }
});

test('a declaration that a query cannot carry is a programming error', () => {
  const pairs = parseQuery('/x?a=1');
  for (const type of [Type.Number(), Type.Object({}), Type.Array(Type.Integer())]) {
    assert.throws(() => coerceQuery(Type.Object({ a: type }), pairs), TypeError);
  }
});
