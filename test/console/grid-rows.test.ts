import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  chosenAfter,
  filteredRows,
  type GridFilter,
  type GridSecret,
  NO_FILTER,
  type Sorting,
  sortedRows,
} from '../../console/src/vaults/grid-rows.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const secret = (path: string, more: Partial<GridSecret> = {}): GridSecret => ({
  path,
  type: 'generic',
  version: 1,
  updated_at: '2026-05-31T00:00:00Z',
  next_rotation: null,
  expires_at: null,
  risk_score: null,
  metadata: null,
  ...more,
});
const all = [
  secret('db/url', { version: 10, risk_score: 20 }),
  secret('db/password', { version: 9, type: 'password', risk_score: 60, next_rotation: '2026-06-10T00:00:00Z' }),
  secret('tls/edge', { type: 'certificate', expires_at: '2026-06-20T00:00:00Z', metadata: { tags: ['pci'] } }),
  secret('old', { updated_at: '2025-01-01T00:00:00Z', metadata: { owner: 'ada', tags: ['pci', 'legacy'] } }),
];
const found = (filter: Partial<GridFilter>) =>
  filteredRows(all, { ...NO_FILTER, ...filter }, NOW).map(({ path }) => path);
const sorted = (by: Sorting['by'], isDescending = false) =>
  sortedRows(all, { by, isDescending }).map(({ path }) => path);

test('each filter narrows, and together they narrow more', () => {
  assert.equal(found({}).length, 4);
  assert.deepEqual(found({ path: 'DB pass' }), ['db/password']);
  assert.deepEqual(found({ type: 'certificate' }), ['tls/edge']);
  assert.deepEqual(found({ tag: 'pci' }), ['tls/edge', 'old']);
  assert.deepEqual(found({ age: '365' }), ['old']);
  assert.deepEqual(found({ need: 'risk' }), ['db/password']);
  assert.deepEqual(found({ need: 'ending' }), ['tls/edge']);
  assert.deepEqual(found({ need: 'rotation' }), ['db/password']);
  assert.deepEqual(found({ tag: 'pci', age: '365' }), ['old']);
});

test('numbers are sorted as numbers, and what has no value stands last both ways', () => {
  assert.deepEqual(sorted('path'), ['db/password', 'db/url', 'old', 'tls/edge']);
  assert.deepEqual(sorted('version', true), ['db/url', 'db/password', 'old', 'tls/edge']);
  assert.deepEqual(sorted('risk'), ['db/url', 'db/password', 'old', 'tls/edge']);
  assert.deepEqual(sorted('risk', true), ['db/password', 'db/url', 'old', 'tls/edge']);
  assert.deepEqual(sorted('owner', true)[0], 'old');
});

test('a click chooses a row or lets it go, and with Shift all from the row before', () => {
  const rows = ['a', 'b', 'c', 'd'].map((path) => ({ path }));
  const chosen = (before: string[], from: string | null, to: string) => [
    ...chosenAfter(new Set(before), rows, { from, to }),
  ];
  assert.deepEqual(chosen([], null, 'b'), ['b']);
  assert.deepEqual(chosen(['b'], null, 'b'), []);
  assert.deepEqual(chosen(['b'], 'b', 'd'), ['b', 'c', 'd']);
  assert.deepEqual(chosen(['d'], 'd', 'b').toSorted(), ['b', 'c', 'd']);
  assert.deepEqual(chosen(['a', 'b', 'c'], 'a', 'c'), [], 'what the click lets go decides for the range');
  assert.deepEqual(chosen([], 'filtered out', 'c'), ['c']);
});
