import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { JsonError, MAX_JSON_DEPTH, MAX_JSON_MEMBERS, parseJson } from './json.ts';

function parse(text: string): unknown {
  return parseJson(Buffer.from(text));
}

function messageOf(body: string | Buffer): string {
  try {
    parseJson(Buffer.from(body));
  } catch (error) {
    assert.ok(error instanceof JsonError, `${error}`);
    return error.message;
  }
  assert.fail('accepted');
}

function parsesNatively(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test('what JSON.stringify writes is read back', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 1, '\t'), (value, space) => {
      const text = JSON.stringify(value, null, space);
      fc.pre(!text.includes('__proto__') && JSON.parse(text) !== undefined && !/\\ud/i.test(text));
      assert.deepEqual(parse(text), JSON.parse(text));
    }),
  );
});

test('what JSON.parse refuses is refused, and what it accepts is accepted unless a rule of ours says no', () => {
  const token = fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '"a"',
      '"b":',
      '"c":1',
      '0',
      '1',
      '-',
      '.5',
      'e9',
      'true',
      'false',
      'nul',
    ],
    ...['null', ' ', '\n', '\u00a0', '\\u0061', '\\x', '\u0001', 'é', '{}', '[]', '/**/', "'", 'NaN', '01', '1.', '+1'],
  );
  fc.assert(
    fc.property(fc.array(token, { minLength: 1, maxLength: 12 }), (tokens) => {
      const text = tokens.join('');
      try {
        const value = parse(text);
        assert.deepEqual(value, JSON.parse(text));
      } catch (error) {
        if (!(error instanceof JsonError)) throw error;
        const isOurRule = /same key twice|out of range/.test(error.message);
        assert.ok(!parsesNatively(text) || isOurRule, `${text}: ${error.message}`);
      }
    }),
    { numRuns: 5000 },
  );
});

test('the message says what is wrong and at which byte', () => {
  const cases: [string | Buffer, string][] = [
    ['', 'The body is empty; JSON is expected.'],
    [Buffer.from([0x22, 0xff, 0x22]), 'The body is not valid UTF-8.'],
    ['\ufeff{}', 'The body starts with a byte order mark; send UTF-8 without one.'],
    [' ', 'The JSON ends too early (byte 1).'],
    ['{"a":1', 'The JSON ends too early (byte 6).'],
    ['{"a" 1}', 'The JSON is malformed; a colon is expected (byte 5).'],
    ['{"é":1,}', 'The JSON is malformed; a key is expected (byte 8).'],
    ['[1 2]', 'The JSON is malformed; a comma or a closing bracket is expected (byte 3).'],
    ['[1}', 'The JSON is malformed; a comma or a closing bracket is expected (byte 2).'],
    ['{} x', 'The JSON is malformed; the end is expected (byte 3).'],
    ['["abc', 'A string is not closed (byte 1).'],
    ['["abc\\"', 'A string is not closed (byte 1).'],
    ['["é\u0001"]', 'A string has a control character or an invalid escape (byte 4).'],
    ['["\\x"]', 'A string has a control character or an invalid escape (byte 3).'],
    ['{"\\x":1}', 'A string has a control character or an invalid escape (byte 1).'],
    ['[1e999]', 'A number is out of range (byte 1).'],
    ['["\\ud800"]', 'A string has half of a surrogate pair (byte 1).'],
  ];
  for (const [body, message] of cases) assert.equal(messageOf(body), message, String(body));
});

test('a whole surrogate pair, escaped or not, is text', () => {
  assert.deepEqual(parse('["\\ud83d\\ude00","😀","\\\\ud800"]'), ['😀', '😀', '\\ud800']);
});

test('depth is bounded exactly, before anything is built', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  assert.ok(parse(nested(MAX_JSON_DEPTH)));
  assert.match(messageOf(nested(MAX_JSON_DEPTH + 1)), /more than 32 levels deep \(byte 32\)/);
  assert.match(messageOf('{"a":'.repeat(500_000)), /levels deep/);
  assert.match(messageOf('['.repeat(1_000_000)), /levels deep/);
});

test('keys and elements are bounded together', () => {
  const elements = (count: number) => `[${Array(count).fill(0).join(',')}]`;
  assert.ok(parse(elements(MAX_JSON_MEMBERS)));
  assert.match(messageOf(elements(MAX_JSON_MEMBERS + 1)), /more than 20000 keys and elements/);
  const keys = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',')}}`;
  assert.ok(parse(keys(MAX_JSON_MEMBERS)));
  assert.match(messageOf(keys(MAX_JSON_MEMBERS + 1)), /more than 20000/);
  assert.match(messageOf(`[${Array(10_001).fill('{"a":0}').join(',')}]`), /more than 20000/);
});

test('the same key twice in one object is refused, in any spelling', () => {
  for (const text of [
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '[{"x":{"é":1,"\\u00e9":2}}]',
    '{"":1,"":2}',
    '{"\\/":1,"/":1}',
  ]) {
    assert.match(messageOf(text), /same key twice/, text);
  }
  assert.deepEqual(parse('{"a":{"a":1},"b":[{"a":1},{"a":2}]}'), { a: { a: 1 }, b: [{ a: 1 }, { a: 2 }] });
  const value = '{"constructor":1,"toString":2,"hasOwnProperty":3}';
  assert.deepEqual(parse(value), JSON.parse(value));
});

test('__proto__ is refused as a key in any spelling, and is fine as a value', () => {
  for (const key of ['__proto__', '\\u005f_proto__', '__prot\\u006F__', '\\u005F\\u005Fproto\\u005f\\u005f']) {
    assert.match(messageOf(`{"a":[{"${key}":{}}]}`), /the key __proto__/, key);
  }
  assert.deepEqual(parse('{"a":"__proto__"}'), { a: '__proto__' });
});

test('a message never repeats the body', () => {
  const broken = [
    '{"MARKER":1,"MARKER":2}',
    '["MARKER"',
    'MARKER',
    '{"a":MARKER}',
    '["MARKER\u0001"]',
    '{"MARKER\\x":1}',
  ];
  for (const text of broken) assert.doesNotMatch(messageOf(text), /MARKER/, text);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), (junk) => {
      assert.doesNotMatch(messageOf(`{"MARKER": MARKER${junk}`), /MARKER/);
    }),
  );
});

test('large bodies of every shape take linear work', () => {
  const size = 1 << 20;
  assert.equal(parse(JSON.stringify('x'.repeat(size))), 'x'.repeat(size));
  assert.equal(parse(JSON.stringify('"\\'.repeat(size / 2))), '"\\'.repeat(size / 2));
  assert.equal(messageOf(`"${'\\"'.repeat(size / 2)}`), 'A string is not closed (byte 0).');
  assert.equal(messageOf(`[1${'0'.repeat(size)}]`), 'A number is out of range (byte 1).');
  const strings = Array.from({ length: 10_000 }, (_, index) => `${index}`);
  assert.deepEqual(parse(JSON.stringify([...strings, '\\'])), [...strings, '\\']);
});
