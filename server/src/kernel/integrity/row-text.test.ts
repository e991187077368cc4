import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appendedText } from './row-text.ts';

test('columns that were added later leave the text of older rows as it was', () => {
  assert.equal(appendedText([]), '');
  assert.equal(appendedText([null, null]), '');
  assert.equal(appendedText([undefined, null]), '');
});

test('each value of an added column has a text of its own, also beside one that is null', () => {
  const rows = [
    [null, null],
    [0, null],
    [null, 0],
    [0, 0],
    ['', null],
    [null, ''],
    ['0', null],
    [1, null],
  ];
  assert.equal(new Set(rows.map(appendedText)).size, rows.length);
  assert.equal(appendedText([null, 5]), 'n;i5;');
});
