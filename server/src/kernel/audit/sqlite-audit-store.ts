import { rmSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CompiledQuery } from 'kysely';
import type { Logger } from 'pino';
import { equalBytes } from '../crypto/digest.ts';
import type { MacKey } from '../crypto/keyring.ts';
import type { Clock } from '../platform/clock.ts';
import { adviceFor } from '../storage/advice.ts';
import { StartError } from '../storage/data-folder.ts';
import type { Tx } from '../storage/database.ts';
import type { SqliteDatabase } from '../storage/sqlite.ts';
import type { Tables } from '../storage/tables.ts';
import type { AuditStore } from './audit-store.ts';
import { type ChainHead, link } from './chain.ts';
import type { AuditEntry } from './entry.ts';
import { type Heads, headRow } from './heads.ts';
import { JOURNAL_BYTES, JournalFile } from './journal-file.ts';
import { PAYLOAD_BYTES_MAX } from './journal-frame.ts';
import { groupsOf, payloadOf } from './journal-payload.ts';
import { readJournal } from './journal-recovery.ts';
import { type JournalKeys, type JournalState, stateOf, stateRow } from './journal-state.ts';
import { newSegment, segmentRow, tenantOf } from './segment.ts';
import { type Group, groupOf, nextMoveBatch, type WaitingBatch } from './waiting.ts';

/** How long entries wait in the journal, and how many of them, before they are moved. */
const MOVE_AFTER_MS = 100;
const MOVE_AFTER_ENTRIES = 500;
const RETRY_AFTER_MS = 1000;
/** How long moved batches keep their space in the journal. Waiting for the disk after each move would cost more than the space. */
const RELEASE_AFTER_MS = 200;

const INSERT = 'insert into audit_segments (tenant_id, id, entries, first_seq, hashes) values (?, ?, ?, ?, ?)';
const UPDATE_HEAD = 'update audit_heads set seq = ?, hash = ?, mac = ?, mac_key_version = ? where tenant_id = ?';
const SAVE_STATE =
  'update audit_journal set moved = ?, mac = ?, mac_key_version = ? where journal_id = ? and moved < ?';

/**
 * Only one process writes, so there can be a journal beside the database. Entries of reads and refusals are durable once they are in the journal.
 * They are moved into the database in batches and linked as they are inserted. The entry of a change is linked in its own transaction.
 */
export class SqliteAuditStore implements AuditStore {
  readonly #database: SqliteDatabase;
  readonly #heads: Heads;
  readonly #keys: JournalKeys;
  readonly #file: string;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #journalBytes: number;
  /** Created with the first batch, because commands that only make changes need no journal. */
  #journal: JournalFile | null = null;
  /** Set when a write to the journal fails. Its content from there on is unknown, so nothing more is written to it. */
  #isSuspect = false;
  #waiting: WaitingBatch[] = [];
  #waitingEntries = 0;
  #moving: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isMoveDue = false;
  /** The last batch that is in the database, though perhaps not on its disk yet. */
  #moved: { journal: JournalFile; seq: number } | null = null;
  #releasing: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: {
    database: SqliteDatabase;
    heads: Heads;
    keys: JournalKeys;
    file: string;
    log: Logger;
    clock: Clock;
    /** Tests set it to fill the journal. */
    journalBytes?: number;
  }) {
    this.#database = parts.database;
    this.#heads = parts.heads;
    this.#keys = parts.keys;
    this.#file = parts.file;
    this.#log = parts.log;
    this.#clock = parts.clock;
    this.#journalBytes = parts.journalBytes ?? JOURNAL_BYTES;
  }

  /**
   * Moves the batches that the last process left in its journal. If an expected journal does not exist, `missing` prepares the entry that records
   * this, in the transaction that closes the journal's state.
   */
  async recover(missing: () => Promise<(tx: Tx) => Promise<void>>): Promise<void> {
    const state = await this.#savedState();
    const left = await readJournal({ file: this.#file, size: this.#journalBytes }, state, this.#keys);
    if (left.kind === 'waiting') {
      for (const { seq, payload } of left.batches) {
        const groups = groupsOf(payload);
        const entries = groups.reduce((sum, { texts }) => sum + texts.length, 0);
        this.#waiting.push({ seq, groups, entries, isCut: true });
      }
    }
    if (state?.isOpen === true) {
      while (this.#waiting.length > 0) await this.#moveBatch(state.id, null);
      const row = stateRow({ ...state, isOpen: false }, await this.#keys.newest());
      const record = left.kind === 'missing' ? await missing() : null;
      await this.#database.transaction(async (tx) => {
        await tx.updateTable('audit_journal').set(row).execute();
        await record?.(tx);
      });
    }
    rmSync(this.#file, { force: true });
  }

  async #savedState(): Promise<JournalState | null> {
    const row = await this.#database.read.selectFrom('audit_journal').selectAll().executeTakeFirst();
    if (row === undefined) return null;
    if (await this.#keys.isAuthentic(row)) return stateOf(row);
    throw new StartError(
      'The row in the table audit_journal was changed outside the service. Restore a backup of the database.',
    );
  }

  async append(entries: AuditEntry[]): Promise<void> {
    const groups: Group[] = [];
    for (const [tenantId, own] of Map.groupBy(entries, (entry) => entry.tenant_id)) {
      groups.push(groupOf(tenantId, own));
    }
    const payload = payloadOf(groups);
    const bytes = Buffer.byteLength(payload);
    if (bytes > PAYLOAD_BYTES_MAX && entries.length > 1) {
      const half = entries.length >> 1;
      await this.append(entries.slice(0, half));
      return this.append(entries.slice(half));
    }
    const journal = await this.#journalWithRoom(bytes);
    const seq = await this.#write(journal, payload, await this.#keys.newest());
    this.#waiting.push({ seq, groups, entries: entries.length, isCut: false });
    this.#waitingEntries += entries.length;
    this.#moveSoon();
  }

  /** Moves all waiting batches and replaces a journal that failed. Both write to the disk. */
  async probeWrite(): Promise<void> {
    await this.settle();
    await this.#journalWithRoom(0);
  }

  #write(journal: JournalFile, payload: string, key: MacKey): Promise<number> {
    return new Promise((resolve, reject) => {
      journal.append(payload, key, (error, seq) => {
        if (error === null) return resolve(seq);
        this.#isSuspect = true;
        reject(error);
      });
    });
  }

  async #journalWithRoom(payloadBytes: number): Promise<JournalFile> {
    if (this.#isSuspect) await this.#endJournal();
    this.#journal ??= await this.#beginJournal();
    while (!this.#journal.hasRoom(payloadBytes)) {
      await this.settle();
      await this.#release();
    }
    return this.#journal;
  }

  /** The file is created before the database refers to it and is empty until then, so that a crash in between leaves a consistent state. */
  async #beginJournal(): Promise<JournalFile> {
    const key = await this.#keys.newest();
    const journal = JournalFile.create(this.#file, key, this.#journalBytes);
    try {
      await this.#saveState({ id: journal.id, moved: 0, isOpen: true }, key);
    } catch (error) {
      journal.remove();
      throw error;
    }
    return journal;
  }

  /** The database records that the file holds nothing more before the file is deleted. */
  async #endJournal(): Promise<void> {
    const journal = this.#journal;
    if (journal === null) return;
    await this.settle();
    await this.#saveState({ id: journal.id, moved: 0, isOpen: false }, await this.#keys.newest());
    journal.remove();
    this.#journal = null;
    this.#isSuspect = false;
  }

  #saveState(state: JournalState, key: MacKey): Promise<void> {
    const row = stateRow(state, key);
    return this.#database.transaction(async (tx) => {
      await tx.replaceInto('audit_journal').values(row).execute();
    });
  }

  async appendIn(tx: Tx, entries: AuditEntry[], headKey: MacKey): Promise<void> {
    const last = this.#waiting.at(-1);
    if (last !== undefined) last.isCut = true;
    const tenantId = tenantOf(entries);
    const segment = newSegment(entries);
    const head = await this.#heads.row(tx, tenantId);
    const isLinked = head !== undefined && (await this.#heads.isAuthentic(head, headKey));
    const links = isLinked ? link(head, tenantId, segment.texts) : null;
    const row = segmentRow(tenantId, segment, links);
    await execute(tx, INSERT, [row.tenant_id, row.id, row.entries, row.first_seq, row.hashes]);
    if (links === null) return;
    const { seq, hash, mac, mac_key_version } = headRow(tenantId, links.head, headKey);
    await execute(tx, UPDATE_HEAD, [seq, hash, mac, mac_key_version, tenantId]);
  }

  #moveSoon(): void {
    const isDue = this.#waitingEntries >= MOVE_AFTER_ENTRIES;
    if (this.#isMoveDue || (this.#timer !== undefined && !isDue)) return;
    this.#isMoveDue = isDue;
    this.#moveIn(isDue ? 0 : MOVE_AFTER_MS);
  }

  #moveIn(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(async () => {
      this.#timer = undefined;
      try {
        await this.settle();
        this.#isMoveDue = false;
        if (this.#waiting.length > 0) this.#moveSoon();
      } catch (error) {
        const what_to_do = adviceFor(error);
        this.#log.warn(
          { err: error, what_to_do },
          'audit entries stay in the journal because they could not be moved to the database; retrying',
        );
        this.#isMoveDue = true;
        this.#moveIn(RETRY_AFTER_MS);
      }
    }, ms).unref();
  }

  /** Moves all batches that are durable now into the database. */
  settle(): Promise<void> {
    const journal = this.#journal;
    const last = this.#waiting.at(-1);
    if (journal === null || last === undefined) return Promise.resolve();
    const run = this.#moving.then(async () => {
      while (this.#waiting[0] !== undefined && this.#waiting[0].seq <= last.seq) {
        await this.#moveBatch(journal.id, journal);
        await nextTurn();
      }
    });
    this.#moving = run.catch(() => {});
    return run;
  }

  /** The progress of the journal commits together with the moved entries, so that a crash at any moment neither repeats nor omits one. */
  async #moveBatch(id: Uint8Array, journal: JournalFile | null): Promise<void> {
    const batch = nextMoveBatch(this.#waiting);
    const tenantIds = [...new Set(batch.segments.map((segment) => segment.tenantId))];
    const keys = await Promise.all(tenantIds.map((tenantId) => this.#heads.key(tenantId)));
    const state = stateRow({ id, moved: batch.lastSeq, isOpen: true }, await this.#keys.newest());
    await this.#database.unsynced(async (run) => {
      const isNew =
        run(SAVE_STATE, [state.moved, state.mac, state.mac_key_version, state.journal_id, state.moved]) === 1;
      if (!isNew) return this.#requireMoved(state);
      const heads = new Map<string, ChainHead>();
      for (const [i, tenantId] of tenantIds.entries()) {
        const row = await this.#heads.row(this.#database.read, tenantId);
        if (row !== undefined && (await this.#heads.isAuthentic(row, keys[i]))) heads.set(tenantId, row);
      }
      for (const { tenantId, latestId, texts } of batch.segments) {
        const head = heads.get(tenantId);
        const links = head === undefined ? null : link(head, tenantId, texts);
        const row = segmentRow(tenantId, { id: latestId, texts }, links);
        run(INSERT, [row.tenant_id, row.id, row.entries, row.first_seq, row.hashes]);
        if (links !== null) heads.set(tenantId, links.head);
      }
      for (const [i, tenantId] of tenantIds.entries()) {
        const head = heads.get(tenantId);
        if (head === undefined) continue;
        const { seq, hash, mac, mac_key_version } = headRow(tenantId, head, keys[i] as MacKey);
        run(UPDATE_HEAD, [seq, hash, mac, mac_key_version, tenantId]);
      }
    });
    for (const { entries } of this.#waiting.splice(0, batch.batches)) this.#waitingEntries -= entries;
    if (journal === null) return;
    this.#moved = { journal, seq: batch.lastSeq };
    this.#releasing ??= setTimeout(() => this.#releaseMoved(), RELEASE_AFTER_MS).unref();
  }

  /** A commit that reported a failure may still have succeeded. */
  async #requireMoved({ journal_id, moved }: Tables['audit_journal']): Promise<void> {
    const row = await this.#database.read.selectFrom('audit_journal').selectAll().executeTakeFirst();
    const isMoved = row !== undefined && equalBytes(row.journal_id, journal_id) && row.moved >= moved;
    if (!isMoved) throw new Error('the database does not contain the batches moved from the audit journal');
  }

  async #releaseMoved(): Promise<void> {
    try {
      await this.#release();
    } catch (error) {
      this.#log.warn(
        { err: error },
        'the entries moved out of the audit journal could not be made durable in the database; they stay in the journal',
      );
    }
  }

  /** Moved batches stay in the journal until they are durable in the database. */
  async #release(): Promise<void> {
    clearTimeout(this.#releasing);
    this.#releasing = undefined;
    const moved = this.#moved;
    if (moved === null) return;
    await this.#database.sync();
    moved.journal.release(moved.seq);
  }

  async link(): Promise<boolean> {
    return false;
  }

  async linkLagMs(): Promise<number> {
    const [oldest] = this.#waiting;
    if (oldest === undefined) return 0;
    return Math.max(0, this.#clock.now() - Math.min(...oldest.groups.map(({ earliestAt }) => earliestAt)));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#releasing);
    await this.#endJournal();
  }
}

async function execute(tx: Tx, sql: string, parameters: readonly unknown[]): Promise<void> {
  await tx.executeQuery(CompiledQuery.raw(sql, [...parameters]));
}
