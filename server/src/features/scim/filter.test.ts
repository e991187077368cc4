import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { CofferError } from '../../kernel/base/errors.ts';
import { type Filter, filterText, parseFilter, parsePath } from './filter.ts';

const eq = (attribute: string, value: string | number | boolean): Filter => ({ kind: 'eq', attribute, value });
const refused = (scimType: string) => (error: unknown) =>
  error instanceof CofferError && error.code === 'VALIDATION_FAILED' && error.details?.['scimType'] === scimType;

const name = fc.stringMatching(/^[a-z][a-z0-9_-]{0,8}(\.[a-z][a-z0-9]{0,8})?$/);
const value = fc.oneof(
  fc.string({ maxLength: 20, unit: 'binary' }),
  fc.boolean(),
  fc.integer({ min: -999_999, max: 999_999 }),
);
const comparison = fc.oneof(
  fc.tuple(name, value).map(([attribute, one]) => eq(attribute, one)),
  name.map((attribute): Filter => ({ kind: 'pr', attribute })),
  fc
    .tuple(fc.constantFrom('co', 'sw', 'ew'), name, fc.string({ minLength: 1, maxLength: 9 }))
    .map(([kind, attribute, one]): Filter => ({ kind, attribute, value: one })),
);

/** Filters as the parser makes them: joined parts are never joined by the same word. */
function filters(depth: number, not?: 'and' | 'or'): fc.Arbitrary<Filter> {
  if (depth === 0) return comparison;
  const some = fc.tuple(name, filters(depth - 1)).map(([attribute, filter]): Filter => {
    return { kind: 'some', attribute, filter };
  });
  const joined = (['and', 'or'] as const)
    .filter((kind) => kind !== not)
    .map((kind) =>
      fc.array(filters(depth - 1, kind), { minLength: 2, maxLength: 3 }).map((parts): Filter => ({ kind, parts })),
    );
  const negated = filters(depth - 1).map((filter): Filter => ({ kind: 'not', filter }));
  return fc.oneof(comparison, some, negated, ...joined);
}

describe('a filter', () => {
  test('that was written parses to itself', () => {
    fc.assert(fc.property(filters(3), (filter) => assert.deepEqual(parseFilter(filterText(filter)), filter)));
  });

  test('is parsed or refused, whatever the text is, and has one canonical text', () => {
    const pieces = [
      '(',
      ')',
      '[',
      ']',
      '.value',
      ' eq ',
      ' and ',
      ' or ',
      ' pr',
      ' co ',
      'not (',
      'userName',
      '"a"',
      '"',
      '\\',
      ' ',
      '1',
      'true',
    ];
    const texts = fc.oneof(
      fc.string(),
      fc.array(fc.constantFrom(...pieces)).map((list) => list.join('')),
    );
    fc.assert(
      fc.property(texts, (text) => {
        let filter: Filter;
        try {
          filter = parseFilter(text);
        } catch (error) {
          assert.ok(refused('invalidFilter')(error), String(error));
          return;
        }
        assert.deepEqual(parseFilter(filterText(filter)), filter);
      }),
    );
  });

  test('as providers send it', () => {
    assert.deepEqual(parseFilter('userName eq "ada@acme.example"'), eq('username', 'ada@acme.example'));
    assert.deepEqual(parseFilter('USERNAME Eq "x"'), eq('username', 'x'));
    assert.deepEqual(parseFilter('urn:ietf:params:scim:schemas:core:2.0:User:userName eq "x"'), eq('username', 'x'));
    assert.deepEqual(parseFilter('emails.value eq "x"'), eq('emails.value', 'x'));
    assert.deepEqual(parseFilter('displayName eq "A \\"quoted\\" name"'), eq('displayname', 'A "quoted" name'));
    assert.deepEqual(parseFilter('emails[type eq "work"].value eq "x"'), {
      kind: 'some',
      attribute: 'emails',
      filter: { kind: 'and', parts: [eq('type', 'work'), eq('value', 'x')] },
    });
    assert.deepEqual(parseFilter('a eq 1 and b eq true or c eq "x"'), {
      kind: 'or',
      parts: [{ kind: 'and', parts: [eq('a', 1), eq('b', true)] }, eq('c', 'x')],
    });
    assert.deepEqual(parseFilter('a eq 1 and (b eq true or c eq "x")'), {
      kind: 'and',
      parts: [eq('a', 1), { kind: 'or', parts: [eq('b', true), eq('c', 'x')] }],
    });
  });

  test('of another kind is refused, and says what works', () => {
    const wrong = [
      '',
      ' ',
      'userName',
      'userName eq',
      'userName gt "a"',
      'userName co ""',
      'userName sw 1',
      'pr',
      'not a eq 1',
      'not (a eq 1',
      'a eq 1 b eq 2',
      '(a eq 1',
      'a eq 1)',
      'a[b eq 1',
      'a eq "\n"',
      'a eq "x',
      'a eq null',
      'a eq 1.5',
      "a eq 'x'",
      'a.b.c eq 1',
      `a eq "${'x'.repeat(3000)}"`,
      `${'('.repeat(20)}a eq 1${')'.repeat(20)}`,
      Array.from({ length: 51 }, () => 'a eq 1').join(' or '),
    ];
    for (const text of wrong) assert.throws(() => parseFilter(text), refused('invalidFilter'), text);
    assert.throws(() => parseFilter('userName gt "a"'), /What works: attributes compared by eq/);
  });
});

describe('a path', () => {
  test('as providers send it', () => {
    const cases: [string, string, string | null, Filter | null][] = [
      ['active', 'active', null, null],
      ['name.givenName', 'name', 'givenname', null],
      ['members', 'members', null, null],
      ['members[value eq "user_1"]', 'members', null, eq('value', 'user_1')],
      ['emails[type eq "work"].value', 'emails', 'value', eq('type', 'work')],
      ['urn:ietf:params:scim:schemas:core:2.0:User:name.familyName', 'name', 'familyname', null],
      [
        'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department',
        'urn:ietf:params:scim:schemas:extension:enterprise:2.0:user:department',
        null,
        null,
      ],
    ];
    for (const [text, attribute, sub, filter] of cases) assert.deepEqual(parsePath(text), { attribute, sub, filter });
  });

  test('that is none is refused', () => {
    for (const text of [
      '',
      'a b',
      'a[',
      'a[b eq 1].',
      'a[b eq 1].c.d',
      'a.b[c eq 1]',
      'members[value eq "x"] extra',
      '.a',
      '1',
    ]) {
      assert.throws(() => parsePath(text), refused('invalidPath'), text);
    }
  });
});
