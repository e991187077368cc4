import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import type { FieldProblem } from '../base/errors.ts';
import { nullable, object, timeInput, timestampText } from '../wire/wire.ts';
import { problemsIn } from './validation.ts';

const Person = object({
  email: Type.String({ maxLength: 20 }),
  role: Type.Optional(Type.Union([Type.Literal('owner'), Type.Literal('member')])),
  address: Type.Optional(object({ city: Type.String() })),
  tags: Type.Optional(Type.Record(Type.String({ pattern: '^[a-z]+$' }), Type.String(), { maxProperties: 3 })),
});
const unknown = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`u${i}`, i]));
const found = (value: unknown): FieldProblem[] => problemsIn(Person, value, '/body');

test('what is valid has no problems', () => {
  assert.deepEqual(found({ email: 'a@example.com', role: 'member', address: { city: 'Oslo' }, tags: { a: 'b' } }), []);
});

// The list of problems is truncated. Once it was truncated before the first problem that counted, and every value passed.
for (const count of [1, 7, 8, 9, 50, 1000]) {
  test(`${count} unknown fields do not hide themselves, nor what else is wrong`, () => {
    for (const more of [{}, { email: { nested: true } }, { role: 'root' }]) {
      for (const value of [
        { email: 'a@example.com', ...unknown(count), ...more },
        { ...unknown(count), email: 'a@example.com', ...more },
      ]) {
        const problems = found(value);
        assert.notDeepEqual(problems, []);
        assert.ok(problems.every(({ pointer }) => pointer.startsWith('/body/')));
      }
    }
  });

  test(`${count} unknown fields inside a field are refused`, () => {
    assert.notDeepEqual(found({ email: 'a@example.com', address: { city: 'Oslo', ...unknown(count) } }), []);
  });
}

test('a problem is told once, with its place and a reason', () => {
  assert.deepEqual(found({ email: 'a@example.com', is_admin: true }), [
    { pointer: '/body/is_admin', reason: 'is not a known field' },
  ]);
  assert.deepEqual(found({ email: 'a@example.com', address: { city: 'Oslo', zip: 1 } }), [
    { pointer: '/body/address/zip', reason: 'is not a known field' },
  ]);
});

test('a value that may be null is refused for what is wrong in it, and for nothing else', () => {
  const Change = object({
    tags: nullable(Type.Array(Type.String({ maxLength: 3 }))),
    until: nullable(timestampText),
  });
  const problem = (value: object) => problemsIn(Change, { tags: null, until: null, ...value }, '/body');
  assert.deepEqual(problem({}), []);
  assert.deepEqual(problem({ tags: ['long enough'] }), [
    { pointer: '/body/tags/0', reason: 'must not have more than 3 characters' },
  ]);
  assert.deepEqual(problem({ tags: 7 }), [{ pointer: '/body/tags', reason: 'must be array' }]);
  const reason = 'must be a time with its zone, such as 2026-11-14T10:00:00Z';
  assert.deepEqual(problem({ until: 'tomorrow' }), [{ pointer: '/body/until', reason }]);
});

test('a refused time says how one is written', () => {
  const problem = (from: string) => problemsIn(object({ from: timeInput('From.') }), { from }, '/query');
  for (const from of ['2026-11-14', '2026-11-14T10:00:00Z']) assert.deepEqual(problem(from), []);
  const reason = 'must be a date such as 2026-11-14, or a time with its zone, such as 2026-11-14T10:00:00Z';
  for (const from of ['yesterday', '2026-13-14', '2026-11-14T10:00'])
    assert.deepEqual(problem(from), [{ pointer: '/query/from', reason }], from);
});

test('a field that is no plain name is not told back', () => {
  const problems = found({ email: 'a@example.com', 'hunter2 is my password': 1, 'a/b': 2 });
  assert.deepEqual(problems, [{ pointer: '/body/?', reason: 'is not a known field' }]);
});

test('more members than a schema allows are one problem, found before each of them is checked', () => {
  const tags = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`${'a'.repeat(500)}${i}`, 0]));
  assert.deepEqual(found({ email: 'a@example.com', tags }), [
    { pointer: '/body/tags', reason: 'must not have more than 3 properties' },
  ]);
  const Lists = object({
    rows: Type.Array(object({ cells: Type.Array(Type.Integer(), { maxItems: 2 }) }), { maxItems: 2 }),
  });
  const row = { cells: [1, 2] };
  assert.deepEqual(problemsIn(Lists, { rows: [row, row, row] }, ''), [
    { pointer: '/rows', reason: 'must not have more than 2 items' },
  ]);
  assert.deepEqual(problemsIn(Lists, { rows: [row, { cells: [1, 2, 3] }] }, ''), [
    { pointer: '/rows/1/cells', reason: 'must not have more than 2 items' },
  ]);
});
