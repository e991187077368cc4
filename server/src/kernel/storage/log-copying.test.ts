import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { COPIED_AT_ONCE_PAGES_MAX, LogCopying } from './log-copying.ts';

const PAGE_BYTES = 4096;
let folder: string;
let file: string;
let writer: DatabaseSync;

function openDatabase(): void {
  folder = mkdtempSync(join(tmpdir(), 'coffer-log-'));
  file = join(folder, 'coffer.db');
  writer = new DatabaseSync(file);
  writer.exec('pragma journal_mode = wal; create table notes (text blob)');
}

function closeDatabase(): void {
  writer.close();
  rmSync(folder, { recursive: true });
}

function write(pages: number): void {
  writer.prepare('insert into notes values (zeroblob(?))').run(pages * PAGE_BYTES);
}

/** Pages in the WAL, and how many of them were copied. */
function log(): { log: number; checkpointed: number } {
  const row = writer.prepare('pragma wal_checkpoint(noop)').get();
  return { log: Number(row?.['log']), checkpointed: Number(row?.['checkpointed']) };
}

describe('copying the write-ahead log', () => {
  beforeEach(openDatabase);
  afterEach(closeDatabase);

  test('what a large transaction left is copied by a thread, while others go on', async () => {
    const copying = new LogCopying(file, writer);
    write(COPIED_AT_ONCE_PAGES_MAX + 100);
    copying.afterCommit();
    assert.ok(copying.isInThread);
    write(1);
    copying.afterCommit();
    await copying.idle();
    assert.ok(log().checkpointed > COPIED_AT_ONCE_PAGES_MAX);
    write(1);
    copying.afterCommit();
    assert.ok(!copying.isInThread, 'the little that came meanwhile needs no thread');
    write(1);
    assert.ok(log().log < 100, 'the WAL began anew');
    assert.deepEqual({ ...writer.prepare('select count(*) as notes from notes').get() }, { notes: 4 });
  });

  test('small transactions are copied in place, and the WAL stays short', () => {
    const copying = new LogCopying(file, writer);
    for (let no = 0; no < 100; no++) {
      write(50);
      copying.afterCommit();
      assert.ok(!copying.isInThread);
      assert.ok(log().log <= COPIED_AT_ONCE_PAGES_MAX);
    }
  });

  test('a thread that fails loses nothing, and the next commit copies in place', async () => {
    const copying = new LogCopying(join(folder, 'missing', 'coffer.db'), writer);
    write(COPIED_AT_ONCE_PAGES_MAX + 100);
    copying.afterCommit();
    await copying.idle();
    assert.equal(log().checkpointed, 0);
    write(1);
    copying.afterCommit();
    assert.ok(!copying.isInThread);
    assert.ok(log().checkpointed > COPIED_AT_ONCE_PAGES_MAX);
  });
});
