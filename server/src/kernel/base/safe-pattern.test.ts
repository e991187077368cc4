import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processorMs } from '../../../../test/support/processor-time.ts';
import { anyPattern, BadPattern, PATTERN_LENGTH_MAX, PATTERNS_MAX } from './safe-pattern.ts';

const matches = (pattern: string, text: string) => anyPattern([pattern])(text);

test('a pattern matches the whole text or not at all', () => {
  assert.ok(matches('repo:acme/[a-z]+', 'repo:acme/app'));
  for (const text of ['repo:acme/app2', 'xrepo:acme/app', 'repo:acme/app\n', '\nrepo:acme/app', 'repo:acme/', '']) {
    assert.ok(!matches('repo:acme/[a-z]+', text), JSON.stringify(text));
  }
});

test('alternation does not escape the anchors, nor do flags or brackets', () => {
  for (const pattern of ['a|b', '(?:a|b)', 'a$|^b', '(?m)a|b', '(?m)^a$|^b$']) {
    assert.ok(matches(pattern, 'a') && matches(pattern, 'b'), pattern);
    for (const text of ['ax', 'xb', 'a\nb', 'x\nb', 'a\n', 'ab']) assert.ok(!matches(pattern, text), pattern + text);
  }
  for (const pattern of ['a)|(?:b', 'a)|(b', '(', '[', '\\Qa', '(?P<x', 'a{2', '\\']) {
    let isRefused = false;
    try {
      assert.ok(!matches(pattern, 'b-and-more') && !matches(pattern, 'more-and-a'), pattern);
    } catch (error) {
      assert.ok(error instanceof BadPattern);
      isRefused = true;
    }
    if (pattern.includes(')|')) assert.ok(isRefused, pattern);
  }
});

test('what is matched is text, whatever syntax it is written in', () => {
  for (const text of ['.*', 'repo:acme/.*', '^(?:a|b)$', 'a|repo:acme/app', '[a-z]+']) {
    assert.ok(!matches('repo:acme/[a-z]+', text), text);
  }
});

test('patterns that ruin other engines take no time', () => {
  const ms = processorMs(() => {
    for (const pattern of ['(a+)+$', '(a|a)*b', '(.*a){20}', '([a-z]+)*[0-9]', '(x+x+)+y', '(?:a?){50}a{50}']) {
      matches(pattern, `${'a'.repeat(1000)}!`);
    }
  });
  assert.ok(ms < 3000, `${ms}`);
});

test('too long, too many and too much are refused, with the place', () => {
  const big = Array.from({ length: 60 }, () => 'a{999}').join('');
  const cases: [string[], number][] = [
    [[''], 0],
    [['a', 'x'.repeat(PATTERN_LENGTH_MAX + 1)], 1],
    [Array.from({ length: PATTERNS_MAX + 1 }, () => 'a'), PATTERNS_MAX],
    [['a', big], 1],
    [['((a{100}){100}){100}'], 0],
    [Array.from({ length: PATTERNS_MAX }, (_, i) => `a{900}${i}`), 4],
    [['a', '(a)\\1'], 1],
    [['(?=a)a'], 0],
  ];
  for (const [patterns, index] of cases) {
    assert.throws(
      () => anyPattern(patterns),
      (error) => {
        assert.ok(error instanceof BadPattern);
        assert.equal(error.index, index, error.message);
        return !error.message.includes('a{');
      },
    );
  }
  assert.ok(anyPattern(Array.from({ length: PATTERNS_MAX }, () => 'x'.repeat(20)))('x'.repeat(20)));
});

test('no pattern allows nobody', () => {
  for (const text of ['', 'a']) assert.ok(!anyPattern([])(text));
});
