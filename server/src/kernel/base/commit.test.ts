import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { commitOfCheckout, findCommit } from './commit.ts';

const COMMIT = '9fceb02d0ae598e95dc970b74767f19372d61af8';
const OTHER = '0123456789abcdef0123456789abcdef01234567';
const scratch = mkdtempSync(join(tmpdir(), 'coffer-commit-'));
after(() => rmSync(scratch, { recursive: true }));

let count = 0;
function folderWith(files: Record<string, string>): string {
  const folder = join(scratch, `${count++}`);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

describe('the commit of a checkout', () => {
  test('is the one of its branch, as a file or packed', () => {
    const HEAD = 'ref: refs/heads/feature/one\n';
    const packed = `# pack-refs with: peeled fully-peeled sorted\n${OTHER} refs/heads/one\n${COMMIT} refs/heads/feature/one\n`;
    assert.equal(
      commitOfCheckout(folderWith({ '.git/HEAD': HEAD, '.git/refs/heads/feature/one': `${COMMIT}\n` })),
      COMMIT,
    );
    assert.equal(commitOfCheckout(folderWith({ '.git/HEAD': HEAD, '.git/packed-refs': packed })), COMMIT);
    // A file is newer than what was packed.
    const both = { '.git/HEAD': HEAD, '.git/packed-refs': packed, '.git/refs/heads/feature/one': OTHER };
    assert.equal(commitOfCheckout(folderWith(both)), OTHER);
  });

  test('is HEAD itself without a branch', () => {
    assert.equal(commitOfCheckout(folderWith({ '.git/HEAD': `${COMMIT}\n` })), COMMIT);
    const sha256 = COMMIT + OTHER.slice(0, 24);
    assert.equal(commitOfCheckout(folderWith({ '.git/HEAD': sha256 })), sha256);
  });

  test('is found in a further work tree', () => {
    const folder = folderWith({
      'main/.git/refs/heads/two': COMMIT,
      'main/.git/worktrees/two/HEAD': 'ref: refs/heads/two\n',
      'main/.git/worktrees/two/commondir': '../..\n',
      'two/.git': 'gitdir: ../main/.git/worktrees/two\n',
    });
    assert.equal(commitOfCheckout(join(folder, 'two')), COMMIT);
  });

  test('is unknown without files of git, or with others than expected', () => {
    for (const files of [
      { 'a.txt': '' },
      { '.git/HEAD': '' },
      { '.git/HEAD': 'ref: refs/heads/none' },
      { '.git/HEAD': 'ref: refs/../secret', '.git/secret': COMMIT },
      { '.git/HEAD': 'ref: refs/heads/x', '.git/refs/heads/x': 'not a commit' },
      { '.git/HEAD': `${COMMIT}00` },
    ]) {
      assert.equal(commitOfCheckout(folderWith(files as Record<string, string>)), 'unknown', JSON.stringify(files));
    }
  });
});

test('a package says its commit itself, and the checkout around it does not count then', () => {
  const git = { '.git/HEAD': OTHER };
  const named = folderWith({ ...git, 'server/package.json': JSON.stringify({ gitHead: COMMIT }) });
  assert.equal(findCommit(join(named, 'server')), COMMIT);
  for (const gitHead of [undefined, '', 'HEAD', 7]) {
    const folder = folderWith({ ...git, 'server/package.json': JSON.stringify({ gitHead }) });
    assert.equal(findCommit(join(folder, 'server')), OTHER);
  }
  assert.equal(findCommit(join(folderWith({ 'server/package.json': '{}' }), 'server')), 'unknown');
});
