import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { StartError } from '../base/data-folder.ts';
import { CommitMark } from './commit-mark.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-mark-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const database = join(folder, 'x.db');
const file = `${database}-commits`;
const LAST = 2 ** 31 - 1;

const opened = (number: number) => {
  const mark = new CommitMark(database, () => number);
  mark.begin(number);
  return mark;
};

test('a database that knows the last commit, or one more, is accepted; an older one is refused', () => {
  const mark = opened(7);
  assert.equal(existsSync(file), false, 'without a commit there is nothing to say');
  for (let n = 8; n <= 9; n++) {
    assert.equal(mark.next, n);
    mark.committed();
  }
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(readFileSync(file, 'utf8'), '0000000009\n');
  for (const number of [9, 10, 500]) opened(number);
  for (const number of [0, 7, 8]) {
    assert.throws(
      () => opened(number),
      (error) => error instanceof StartError && /is older than before.*remove \S+-commits/.test(error.message),
    );
  }
  mark.remove();
  opened(0);
});

test('after the last number comes the first', () => {
  const mark = opened(LAST);
  assert.equal(mark.next, 0);
  mark.committed();
  opened(0);
  assert.throws(() => opened(LAST), StartError);
  mark.remove();
});

test('one that a power cut left empty or half written says nothing', () => {
  for (const text of ['', '00000', '\0'.repeat(11), 'x'.repeat(11)]) {
    writeFileSync(file, text);
    opened(3);
  }
  rmSync(file);
});

test('where it cannot be written, commits go on without it', () => {
  mkdirSync(file);
  const mark = new CommitMark(join(folder, 'nowhere', 'x.db'), () => 0);
  mark.begin(4);
  mark.committed();
  assert.equal(mark.next, 6);
  mark.remove();
  assert.throws(() => opened(0), /EISDIR/);
  rmdirSync(file);
});
