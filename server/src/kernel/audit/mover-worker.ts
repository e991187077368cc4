import type { KeyObject } from 'node:crypto';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { macOf } from '../crypto/digest.ts';
import { type ChainHead, link } from './chain.ts';
import { headRow } from './heads.ts';
import type { Move, Moved, MoverSettings } from './mover.ts';
import { segmentRow } from './segment.ts';

/**
 * The thread that moves audit entries from the journal into the database: hashing, inserting and waiting for the disk, while the main thread
 * answers requests. It has a connection of its own, and writes only while the main thread writes nothing.
 */
const { databaseFile, setUp } = workerData as MoverSettings;
const port = parentPort;
if (port === null) throw new Error('this runs in a thread of its own');

const database = new DatabaseSync(databaseFile);
database.exec(setUp);
const statements = new Map<string, StatementSync>();

const INSERT = 'insert into audit_segments (tenant_id, id, entries, first_seq, hashes) values (?, ?, ?, ?, ?)';
const UPDATE_HEAD = 'update audit_heads set seq = ?, hash = ?, mac = ?, mac_key_version = ? where tenant_id = ?';
const STATE = 'select moved from audit_journal where journal_id = ?';
const SAVE_STATE = 'update audit_journal set moved = ?, mac = ?, mac_key_version = ?';

port.on('message', (move: Move | null) => {
  if (move !== null) return port.postMessage(tried(move));
  database.close();
  port.close();
});

function tried(move: Move): Moved {
  try {
    database.exec('begin immediate');
    if (!isMoved(move)) {
      insertLinked(move);
      const { moved, mac, mac_key_version } = move.state;
      prepared(SAVE_STATE).run(moved, mac, mac_key_version);
    }
    database.exec('commit');
    return { failure: null };
  } catch (error) {
    const { message, code, errcode } = error as Error & { code?: string; errcode?: number };
    if (database.isTransaction) database.exec('rollback');
    return { failure: { message, code, errcode } };
  }
}

/** A thread before this one may have ended between its commit and its word of it. */
function isMoved({ state }: Move): boolean {
  const row = prepared(STATE).get(state.journal_id);
  if (row === undefined) throw new Error('the database does not know of the audit journal');
  return Number(row['moved']) >= state.moved;
}

function insertLinked({ segments, chains }: Move): void {
  const heads = new Map<string, ChainHead>();
  for (const { tenantId, head } of chains) if (head !== null) heads.set(tenantId, head);
  for (const { tenantId, latestId, texts } of segments) {
    const head = heads.get(tenantId);
    const links = head === undefined ? null : link(head, tenantId, texts);
    const row = segmentRow(tenantId, { id: latestId, texts }, links);
    prepared(INSERT).run(row.tenant_id, row.id, row.entries, row.first_seq, row.hashes);
    if (links !== null) heads.set(tenantId, links.head);
  }
  for (const { tenantId, key } of chains) {
    const head = heads.get(tenantId);
    if (head === undefined) continue;
    const { seq, hash, mac, mac_key_version } = headRow(tenantId, head, signer(key));
    prepared(UPDATE_HEAD).run(seq, hash, mac, mac_key_version, tenantId);
  }
}

function signer({ version, key }: { version: number; key: KeyObject }) {
  return { version, mac: (data: Uint8Array) => macOf(key, data) };
}

function prepared(sql: string): StatementSync {
  let statement = statements.get(sql);
  if (statement === undefined) {
    statement = database.prepare(sql);
    statements.set(sql, statement);
  }
  return statement;
}
