import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineDiff } from '../../console/src/secrets/line-diff.ts';

const numbered = (count: number, change?: readonly [line: number, text: string]) =>
  Array.from({ length: count }, (_, i) => (change?.[0] === i ? change[1] : `line ${i}`)).join('\n');
const shown = (before: string, after: string) =>
  lineDiff(before, after).map(
    ({ kind, text }) => `${{ same: ' ', added: '+', removed: '-', omitted: '…' }[kind]}${text}`,
  );

test('a changed line stands between its equal neighbours', () => {
  assert.deepEqual(shown('a\nb\nc', 'a\nx\nc'), [' a', '-b', '+x', ' c']);
});

test('a difference behind the first two thousand lines is shown', () => {
  const lines = shown(numbered(5000), numbered(5000, [4000, 'changed']));
  assert.deepEqual(
    lines.filter((line) => /^[-+]/.test(line)),
    ['-line 4000', '+changed'],
  );
  assert.deepEqual(
    lines.filter((line) => line.startsWith('…')),
    ['…3994', '…993'],
  );
  assert.ok(lines.includes(' line 3999') && lines.includes(' line 4001'));
});

test('texts of different lengths, ends of lines and last lines never look the same', () => {
  for (const [before, after] of [
    ['a', 'a\n'],
    ['a\r\nb', 'a\nb'],
    [numbered(2500), numbered(2400)],
    ['', 'a'],
    ['a', 'a '],
  ] as const) {
    const lines = shown(before, after);
    const of = (sign: string) => lines.filter((line) => line.startsWith(sign)).map((line) => line.slice(1));
    assert.notDeepEqual(of('-'), of('+'), JSON.stringify([before.slice(0, 9), after.slice(0, 9)]));
  }
});

test('texts that have nothing in common are shown whole, one after the other', () => {
  const lines = shown(numbered(3000), Array.from({ length: 3000 }, (_, i) => `other ${i}`).join('\n'));
  assert.deepEqual(
    [lines.length, lines[0], lines[2999], lines[3000], lines[5999]],
    [6000, '-line 0', '-line 2999', '+other 0', '+other 2999'],
  );
});
