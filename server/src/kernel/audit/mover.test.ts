import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { GENESIS_HASH } from './chain.ts';
import { type Move, Mover } from './mover.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-mover-'));
const databaseFile = join(folder, 'coffer.db');
const journalId = randomBytes(16);
let database: DatabaseSync;
before(() => {
  database = new DatabaseSync(databaseFile);
  database.exec(`pragma journal_mode = wal;
    create table audit_segments (tenant_id text, id text, entries text, first_seq integer, hashes blob, primary key (tenant_id, id));
    create table audit_heads (tenant_id text primary key, seq integer, hash blob, mac blob, mac_key_version integer);
    create table audit_journal (journal_id blob, moved integer, mac blob, mac_key_version integer);`);
});
after(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

function moveOf(moved: number, texts: string[]): Move {
  const key = { version: 1, key: createSecretKey(randomBytes(32)) };
  return {
    segments: [{ tenantId: 'tenant_a', latestId: `audit_${moved}`, texts }],
    chains: [{ tenantId: 'tenant_a', head: { seq: 0, hash: GENESIS_HASH }, key }],
    state: { tenant_id: '', journal_id: journalId, moved, is_open: 1, mac: randomBytes(32), mac_key_version: 1 },
  };
}
const segments = () => database.prepare('select id, first_seq, length(hashes) as bytes from audit_segments').all();
const newMover = () => new Mover({ databaseFile, setUp: 'pragma synchronous = full' });

test('a journal the database does not know of is not moved', async () => {
  const mover = newMover();
  await assert.rejects(mover.move(moveOf(1, ['[]'])), /does not know/);
  assert.deepEqual(segments(), []);
  await mover.close();
});

test('what was committed is not moved again by a thread that takes over from one that ended before it could say so', async () => {
  database.prepare('insert into audit_journal values (?, 0, null, 1)').run(journalId);
  const move = moveOf(2, ['["a"]', '["b"]']);
  for (const mover of [newMover(), newMover()]) {
    await mover.move(move);
    await mover.close();
  }
  assert.deepEqual(
    segments().map((row) => ({ ...row })),
    [{ id: 'audit_2', first_seq: 1, bytes: 64 }],
  );
});

test('a thread that cannot start, or ends, fails what waits for it and nothing else; the next move begins another', async () => {
  const mover = new Mover({ databaseFile: join(folder, 'none', 'coffer.db'), setUp: '' });
  await assert.rejects(mover.move(moveOf(3, ['[]'])), /unable to open/);
  await assert.rejects(mover.move(moveOf(3, ['[]'])), /unable to open/);
  await mover.close();
});

test('a failure says what SQLite said, and leaves nothing behind', async () => {
  const mover = newMover();
  const move = moveOf(4, ['["c"]']);
  const again = { ...move, segments: [...move.segments, ...move.segments] };
  await assert.rejects(mover.move(again), { code: 'ERR_SQLITE_ERROR', errcode: 1555 });
  assert.equal(segments().length, 1);
  await mover.move(move);
  assert.equal(segments().length, 2);
  await mover.close();
});
