import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type DifferenceLine, lineDifference } from './line-difference.ts';

const sideOf = (lines: readonly DifferenceLine[], without: 'added' | 'removed') =>
  lines
    .filter(({ kind }) => kind !== without)
    .map(({ text }) => text)
    .join('\n');

test('without what was added it is the first text, without what was removed the second', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', '')).map((lines) => lines.join('\n'));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = lineDifference(before, after);
      assert.equal(sideOf(lines, 'added'), before);
      assert.equal(sideOf(lines, 'removed'), after);
      if (before === after) assert.ok(lines.every(({ kind }) => kind === 'same'));
    }),
  );
});

test('it is the shortest difference, and lines have their numbers', () => {
  assert.deepEqual(
    lineDifference('a\nb\nc\nd', 'a\nc\nx\nd').map(({ kind, text, line }) => `${kind} ${line} ${text}`),
    ['same 1 a', 'removed 2 b', 'same 2 c', 'added 3 x', 'same 4 d'],
  );
});

test('texts that have little in common are shown one after the other', () => {
  const lines = (letter: string) => Array.from({ length: 50_000 }, (_, i) => `${letter}${i}`).join('\n');
  const found = lineDifference(lines('a'), lines('b'));
  assert.deepEqual(
    [found.length, found[0], found.at(-1)],
    [100_000, { kind: 'removed', text: 'a0', line: 1 }, { kind: 'added', text: 'b49999', line: 50_000 }],
  );
});
