import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { SqliteDatabase } from './sqlite.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-sqlite-'));
const file = join(folder, 'x.db');
const database = new SqliteDatabase(file);
after(async () => {
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});
await database.transaction(async (tx) => {
  await sql`create table notes (id integer primary key, text text not null)`.execute(tx);
});

const notes = async () => (await sql<{ text: string }>`select text from notes order by id`.execute(database.read)).rows;
const levelInside = async () => {
  let level: unknown;
  await database.transaction(async (tx) => {
    level = (await sql<{ synchronous: number }>`pragma synchronous`.execute(tx)).rows[0]?.synchronous;
  });
  return level;
};
const FULL = 2;

test('what need not be synced is there at once, and all of it or nothing', async () => {
  const { version } = database;
  await database.unsynced(async (run) => {
    assert.equal(run('insert into notes (id, text) values (?, ?)', [1, 'one']), 1);
  });
  assert.equal((await notes()).length, 1);
  assert.equal(database.version, version, 'nothing that is cached depends on it');
  await assert.rejects(
    database.unsynced(async (run) => {
      run('insert into notes (id, text) values (?, ?)', [2, 'two']);
      throw new Error('half-way');
    }),
    /half-way/,
  );
  assert.equal((await notes()).length, 1);
});

test('a change is synced, also one that comes with, after or between others that are not', async () => {
  assert.equal(await levelInside(), FULL);
  const others = Promise.allSettled(
    Array.from({ length: 20 }, (_, i) =>
      database.unsynced(async (run) => {
        await Promise.resolve();
        run('insert into notes (id, text) values (?, ?)', [100 + i, 'other']);
        if (i % 3 === 0) throw new Error('undone');
      }),
    ),
  );
  const levels = await Promise.all(Array.from({ length: 20 }, () => levelInside()));
  assert.deepEqual(new Set(levels), new Set([FULL]));
  const failed = (await others).filter(({ status }) => status === 'rejected');
  assert.equal(failed.length, 7);
  assert.equal(await levelInside(), FULL);
});

test('the log is opened once, however many wait for it', async (t) => {
  const open = t.mock.method(files, 'open');
  syncBuiltinESMExports();
  t.after(() => {
    open.mock.restore();
    syncBuiltinESMExports();
  });
  await Promise.all(Array.from({ length: 8 }, () => database.sync()));
  await database.sync();
  assert.deepEqual(
    open.mock.calls.map(({ arguments: [path] }) => path),
    [`${file}-wal`],
  );
});

test('a sync that failed is not made good by one that knows nothing of it: the log is copied out and begun anew', async (t) => {
  const handle = await files.open(file);
  const sync = t.mock.method(Object.getPrototypeOf(handle), 'datasync', async () => {
    throw new Error('the disk fails');
  });
  await handle.close();
  await database.unsynced(async (run) => {
    run('insert into notes (id, text) values (?, ?)', [500, 'kept']);
  });
  assert.ok(statSync(`${file}-wal`).size > 0);
  await assert.rejects(database.sync(), /the disk fails/);
  sync.mock.restore();
  await database.sync();
  assert.equal(statSync(`${file}-wal`).size, 0);
  assert.equal((await notes()).at(-1)?.text, 'kept');
});
