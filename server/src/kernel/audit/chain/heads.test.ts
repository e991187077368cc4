import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Keyring } from '../../keys/keyring.ts';
import type { Database } from '../../storage/database.ts';
import type { Tables } from '../../storage/tables.ts';
import type { Anchor } from './anchor.ts';
import { Heads } from './heads.ts';

type Head = Tables['audit_heads'];
const headAt = (seq: number): Head => ({
  tenant_id: 't',
  seq,
  hash: new Uint8Array(32),
  mac: new Uint8Array(32),
  key_version: 1,
});

/** A database with one committed head. */
function begin() {
  const noted: number[] = [];
  const anchor = { isBehind: () => false, note: (_: string, { seq }: Head) => noted.push(seq), save() {}, warn() {} };
  const keyring = { verifyMac: async () => true };
  const heads = new Heads(keyring as unknown as Keyring, anchor as unknown as Anchor);
  const committed = { head: headAt(1) };
  heads.row = async () => committed.head;
  const database = { read: {}, sync: async () => {} } as unknown as Database;
  return { heads, noted, committed, database };
}

test('the anchor is raised to what was linked, also if it was raised between the check of the head and the commit', async () => {
  const { heads, noted, committed, database } = begin();
  assert.equal(await heads.isAuthentic(committed.head), true);
  await heads.raiseAnchor(database);
  committed.head = headAt(2);
  heads.hasMoved('t');
  await heads.raiseAnchor(database);
  assert.deepEqual(noted, [2]);
});

test('a head that moves while the anchor is raised is noted the next time', async () => {
  const { heads, noted, committed, database } = begin();
  heads.hasMoved('t');
  heads.hasItsMac = async () => {
    committed.head = headAt(2);
    heads.hasMoved('t');
    return true;
  };
  await heads.raiseAnchor(database);
  await heads.raiseAnchor(database);
  assert.deepEqual(noted, [1, 2]);
});

test('a check of a head changes nothing', async () => {
  const { heads, noted, committed, database } = begin();
  await heads.hasItsMac(committed.head);
  await heads.isAuthentic(committed.head);
  await heads.raiseAnchor(database);
  assert.deepEqual(noted, []);
});
