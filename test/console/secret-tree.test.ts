import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { treeRows } from '../../console/src/vaults/secret-tree.ts';

const rowsOf = (paths: readonly string[], closed: readonly string[] = []) =>
  treeRows(
    paths.toSorted().map((path) => ({ path })),
    new Map(closed.map((folder) => [folder, false])),
  );
const shown = (paths: readonly string[], closed?: readonly string[]) =>
  rowsOf(paths, closed).map(({ kind, name, depth }) => `${'  '.repeat(depth)}${name}${kind === 'folder' ? '/' : ''}`);

test('secrets stand below their folders', () => {
  assert.deepEqual(shown(['db/main', 'db/replica/one', 'mail']), ['db/', '  main', '  replica/', '    one', 'mail']);
});

test('a folder that holds nothing but another one shares its row', () => {
  assert.deepEqual(shown(['a/b/c/one', 'a/b/c/two']), ['a/b/c/', '  one', '  two']);
  assert.deepEqual(shown(['a/b/one', 'a/c/two']), ['a/', '  b/', '    one', '  c/', '    two']);
  assert.deepEqual(shown(['a/b/one', 'a/two']), ['a/', '  b/', '    one', '  two']);
});

test('a closed folder hides what is below it, and says how much', () => {
  const rows = rowsOf(['a/b/one', 'a/b/two', 'c'], ['a/b']);
  assert.deepEqual(
    rows.map(({ path }) => path),
    ['a/b', 'c'],
  );
  assert.ok(rows[0]?.kind === 'folder' && rows[0].count === 2 && !rows[0].isOpen);
});

test('every secret of an open tree is shown once, and its folders spell its path', () => {
  const segment = fc.stringMatching(/^[ab]{1,2}$/);
  const path = fc.array(segment, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'));
  fc.assert(
    fc.property(fc.uniqueArray(path, { maxLength: 30 }), (paths) => {
      const above: string[] = [];
      const spelled: string[] = [];
      for (const { kind, name, depth } of rowsOf(paths)) {
        above.length = depth;
        if (kind === 'secret') spelled.push([...above, name].join('/'));
        else above[depth] = name;
      }
      assert.deepEqual(spelled.toSorted(), paths.toSorted());
    }),
  );
});
