import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { PurposeKey } from '../crypto/keyring.ts';
import type { Tx } from '../storage/database.ts';
import type { Connection, SqliteDatabase } from '../storage/sqlite.ts';
import type { AuditStore } from './audit-store.ts';
import { type ChainHead, link } from './chain.ts';
import type { AuditEntry } from './entry.ts';
import { type Heads, headRow } from './heads.ts';
import { JournalFile, type Place } from './journal-file.ts';
import { PAYLOAD_BYTES_MAX } from './journal-frame.ts';
import { payloadOf } from './journal-payload.ts';
import { type JournalKeys, type JournalState, stateRow } from './journal-state.ts';
import { newSegment, segmentRow } from './segment.ts';
import { type Group, groupOf, nextLump, type WaitingBatch } from './waiting.ts';

/** How long entries wait in the journal, and how many of them, before they are moved. */
const MOVE_AFTER_MS = 100;
const MOVE_AFTER_ENTRIES = 1000;
const RETRY_AFTER_MS = 1000;

const INSERT = 'insert into audit_segments (tenant_id, id, entries, first_seq, hashes) values (?, ?, ?, ?, ?)';
const SELECT_HEAD = 'select seq, hash from audit_heads where tenant_id = ?';
const UPDATE_HEAD = 'update audit_heads set seq = ?, hash = ?, mac = ?, mac_key_version = ? where tenant_id = ?';
const SAVE_STATE = `insert or replace into audit_journal (tenant_id, journal_id, moved, is_open, mac, mac_key_version)
  values (?, ?, ?, ?, ?, ?)`;

/**
 * One process writes, so there can be a journal beside the database: entries of reads and refusals are durable once they are in it, and are moved
 * into the database many at a time, where they are linked as they are inserted. A change's entry is linked in its own transaction.
 */
export class SqliteAuditStore implements AuditStore {
  readonly #database: SqliteDatabase;
  readonly #heads: Heads;
  readonly #keys: JournalKeys;
  readonly #file: string;
  readonly #log: Logger;
  #journal: JournalFile | null = null;
  /** A write to it failed: what it holds after that is not known, and it gets no more. */
  #isSuspect = false;
  #waiting: WaitingBatch[] = [];
  #waitingEntries = 0;
  #moving: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: { database: SqliteDatabase; heads: Heads; keys: JournalKeys; file: string; log: Logger }) {
    this.#database = parts.database;
    this.#heads = parts.heads;
    this.#keys = parts.keys;
    this.#file = parts.file;
    this.#log = parts.log;
  }

  async append(entries: AuditEntry[]): Promise<void> {
    const groups: Group[] = [];
    for (const [tenantId, own] of Map.groupBy(entries, (entry) => entry.tenant_id)) {
      groups.push(groupOf(tenantId, own, await this.#heads.key(tenantId)));
    }
    const payload = payloadOf(groups);
    const bytes = Buffer.byteLength(payload);
    if (bytes > PAYLOAD_BYTES_MAX && entries.length > 1) {
      const half = entries.length >> 1;
      await this.append(entries.slice(0, half));
      return this.append(entries.slice(half));
    }
    const journal = await this.#journalWithRoom(bytes);
    const place = await this.#write(journal, payload, await this.#keys.newest());
    this.#waiting.push({ place, groups, entries: entries.length, isCut: false });
    this.#waitingEntries += entries.length;
    this.#moveSoon(this.#waitingEntries < MOVE_AFTER_ENTRIES ? MOVE_AFTER_MS : 0);
  }

  #write(journal: JournalFile, payload: string, key: PurposeKey): Promise<Place> {
    return new Promise((resolve, reject) => {
      journal.append(payload, key, (error, place) => {
        if (error === null) return resolve(place);
        this.#isSuspect = true;
        reject(error);
      });
    });
  }

  async #journalWithRoom(payloadBytes: number): Promise<JournalFile> {
    if (this.#isSuspect) await this.#endJournal();
    this.#journal ??= await this.#beginJournal();
    while (!this.#journal.hasRoom(payloadBytes)) await this.settle();
    return this.#journal;
  }

  async #beginJournal(): Promise<JournalFile> {
    const key = await this.#keys.newest();
    const journal = JournalFile.create(this.#file, key);
    try {
      await this.#database.exclusively((writer) => saveState(writer, { id: journal.id, moved: 0, isOpen: true }, key));
    } catch (error) {
      journal.remove();
      throw error;
    }
    return journal;
  }

  async #endJournal(): Promise<void> {
    const journal = this.#journal;
    if (journal === null) return;
    while (this.#waiting.length > 0) await this.settle();
    const key = await this.#keys.newest();
    await this.#database.exclusively((writer) => saveState(writer, { id: journal.id, moved: 0, isOpen: false }, key));
    journal.remove();
    this.#journal = null;
    this.#isSuspect = false;
  }

  async appendIn(tx: Tx, entry: AuditEntry, headKey: PurposeKey): Promise<void> {
    const last = this.#waiting.at(-1);
    if (last !== undefined) last.isCut = true;
    const tenantId = entry.tenant_id;
    const segment = newSegment([entry]);
    const head = await tx
      .selectFrom('audit_heads')
      .select(['seq', 'hash'])
      .where('tenant_id', '=', tenantId)
      .executeTakeFirst();
    const links = head === undefined ? null : link(head, tenantId, segment.texts);
    await tx
      .insertInto('audit_segments')
      .values(segmentRow(tenantId, segment, links))
      .execute();
    if (links === null) return;
    const { tenant_id, ...change } = headRow(tenantId, links.head, headKey);
    await tx.updateTable('audit_heads').set(change).where('tenant_id', '=', tenant_id).execute();
  }

  #moveSoon(ms: number): void {
    if (this.#timer !== undefined && ms > 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      try {
        await this.settle();
        this.#timer = undefined;
        if (this.#waiting.length > 0) this.#moveSoon(MOVE_AFTER_MS);
      } catch (error) {
        this.#log.warn({ err: error }, 'audit entries stay in the journal; moving them is tried again');
        this.#timer = undefined;
        this.#moveSoon(RETRY_AFTER_MS);
      }
    }, ms).unref();
  }

  /** Moves what is durable now into the database. */
  settle(): Promise<void> {
    const last = this.#waiting.at(-1);
    if (last === undefined) return Promise.resolve();
    const run = this.#moving.then(async () => {
      while (this.#waiting[0] !== undefined && this.#waiting[0].place.seq <= last.place.seq) {
        await this.#moveLump();
        await nextTurn();
      }
    });
    this.#moving = run.catch(() => {});
    return run;
  }

  async #moveLump(): Promise<void> {
    const journal = this.#journal;
    if (journal === null) return;
    const key = await this.#keys.newest();
    const lump = nextLump(this.#waiting);
    await this.#database.exclusively((writer) => {
      insertLinked(writer, lump.segments);
      saveState(writer, { id: journal.id, moved: lump.lastSeq, isOpen: true }, key);
    });
    for (const { entries } of this.#waiting.splice(0, lump.batches)) this.#waitingEntries -= entries;
    journal.release(this.#waiting[0]?.place ?? null);
  }

  async seal(): Promise<number> {
    await this.settle();
    return 0;
  }
}

function insertLinked(writer: Connection, segments: readonly Group[]): void {
  const ends = new Map<string, { head: ChainHead; key: PurposeKey }>();
  for (const { tenantId, headKey, texts, latestId } of segments) {
    const head = ends.get(tenantId)?.head ?? (writer.all(SELECT_HEAD, [tenantId])[0] as ChainHead | undefined);
    const links = head === undefined ? null : link(head, tenantId, texts);
    const row = segmentRow(tenantId, { id: latestId, texts }, links);
    writer.run(INSERT, [row.tenant_id, row.id, row.entries, row.first_seq, row.hashes]);
    if (links !== null) ends.set(tenantId, { head: links.head, key: headKey });
  }
  for (const [tenantId, { head, key }] of ends) {
    const { seq, hash, mac, mac_key_version } = headRow(tenantId, head, key);
    writer.run(UPDATE_HEAD, [seq, hash, mac, mac_key_version, tenantId]);
  }
}

function saveState(writer: Connection, state: JournalState, key: PurposeKey): void {
  const row = stateRow(state, key);
  writer.run(SAVE_STATE, [row.tenant_id, row.journal_id, row.moved, row.is_open, row.mac, row.mac_key_version]);
}
