import { rmSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../../base/clock.ts';
import { StartError } from '../../base/data-folder.ts';
import { equalBytes } from '../../crypto/digest.ts';
import type { MacKey } from '../../keys/keyring.ts';
import { adviceFor } from '../../storage/advice.ts';
import type { Reader, Tx } from '../../storage/database.ts';
import type { Run, SqliteDatabase } from '../../storage/sqlite.ts';
import type { Tables } from '../../storage/tables.ts';
import { type ChainHead, link } from '../chain/chain.ts';
import { type Heads, headRow } from '../chain/heads.ts';
import { segmentRow, tenantOf } from '../chain/segment.ts';
import type { AuditEntry } from '../entry/entry.ts';
import type { AuditStore } from '../log/audit-store.ts';
import { JOURNAL_BYTES, JournalFile } from './journal-file.ts';
import { PAYLOAD_BYTES_MAX } from './journal-frame.ts';
import { parsePayload, payloadOf } from './journal-payload.ts';
import { readJournal } from './journal-recovery.ts';
import { type JournalKeys, type JournalState, stateOf, stateRow } from './journal-state.ts';
import { type Group, groupEntries, halves, mergeGroups, nextMoveBatch, type WaitingBatch } from './waiting-batches.ts';

/** How long entries wait in the journal, and how many of them, before they are moved. */
const MOVE_AFTER_MS = 100;
const MOVE_AFTER_ENTRIES = 500;
const RETRY_AFTER_MS = 1000;
/** How long moved batches keep their space in the journal. Waiting for the disk after each move would cost more than the space. */
const RELEASE_AFTER_MS = 200;

const INSERT = 'insert into audit_segments (tenant_id, id, entries, first_seq, hashes) values (?, ?, ?, ?, ?)';
const UPDATE_HEAD = 'update audit_heads set seq = ?, hash = ?, mac = ?, key_version = ? where tenant_id = ?';
const SAVE_STATE =
  'update audit_journal set moved = ?, mac = ?, mac_key_version = ? where journal_id = ? and moved < ?';

/**
 * Only one process writes, so there can be a journal beside the database. Entries of reads and refusals are durable once they are in the journal.
 * They are moved into the database in batches and linked as they are inserted. The entries of changes are linked in the commit of those changes,
 * all of one tenant at once.
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
  /** The entries of changes that are not committed yet. */
  readonly #ofChanges = new WeakMap<Tx, EntriesOfChange[]>();
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
    this.#database.beforeCommit((...commit) => this.#linkChanges(...commit));
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
        const groups = parsePayload(payload);
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
      groups.push(...groupEntries(tenantId, own));
    }
    await this.appendGroups(groups);
  }

  /** Entries that are in the form of the journal already. */
  async appendGroups(groups: readonly Group[]): Promise<void> {
    const payload = payloadOf(groups);
    const bytes = Buffer.byteLength(payload);
    if (bytes > PAYLOAD_BYTES_MAX) {
      for (const part of halves(groups)) await this.appendGroups(part);
      return;
    }
    const journal = await this.#journalWithRoom(bytes);
    const seq = await this.#write(journal, payload, await this.#keys.newest());
    const entries = groups.reduce((sum, { texts }) => sum + texts.length, 0);
    this.#waiting.push({ seq, groups, entries, isCut: false });
    this.#waitingEntries += entries;
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
    const tenantId = tenantOf(entries);
    this.appendGroupsIn(tx, { tenantId, groups: groupEntries(tenantId, entries), headKey });
  }

  appendGroupsIn(tx: Tx, change: EntriesOfChange): void {
    const { tenantId } = change;
    tx.onEnd.push((outcome) => {
      if (outcome === 'committed') this.#heads.hasMoved(tenantId);
    });
    const others = this.#ofChanges.get(tx);
    if (others === undefined) this.#ofChanges.set(tx, [change]);
    else others.push(change);
  }

  async #linkChanges(tx: Tx, run: Run, succeeded: readonly Tx[]): Promise<void> {
    const changes = succeeded.flatMap((one) => this.#ofChanges.get(one) ?? []);
    const last = this.#waiting.at(-1);
    if (last !== undefined && changes.length > 0) last.isCut = true;
    // The last change of a tenant has its newest key.
    const keys = new Map(changes.map(({ tenantId, headKey }) => [tenantId, headKey]));
    insertLinked(run, mergeGroups(changes.flatMap(({ groups }) => groups)), await this.#headsOf(tx, keys));
  }

  /** The heads to which segments can be linked, each with the key for its next MAC. */
  async #headsOf(db: Reader, keys: ReadonlyMap<string, MacKey>): Promise<Map<string, KeyedHead>> {
    const heads = new Map<string, KeyedHead>();
    for (const [tenantId, key] of keys) {
      const head = await this.#heads.row(db, tenantId);
      if (head !== undefined && (await this.#heads.isAuthentic(head, key))) heads.set(tenantId, { head, key });
    }
    return heads;
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
    const tenantIds = new Set(batch.segments.map((segment) => segment.tenantId));
    const keys = new Map(
      await Promise.all([...tenantIds].map(async (tenantId) => [tenantId, await this.#heads.key(tenantId)] as const)),
    );
    const state = stateRow({ id, moved: batch.lastSeq, isOpen: true }, await this.#keys.newest());
    await this.#database.unsynced(async (run) => {
      const isNew =
        run(SAVE_STATE, [state.moved, state.mac, state.mac_key_version, state.journal_id, state.moved]) === 1;
      if (!isNew) return this.#requireMoved(state);
      insertLinked(run, batch.segments, await this.#headsOf(this.#database.read, keys));
    });
    for (const tenantId of tenantIds) this.#heads.hasMoved(tenantId);
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

  readonly isIdle = true;

  async link(): Promise<boolean> {
    return false;
  }

  async linkAll(): Promise<ReadonlySet<string>> {
    return new Set();
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

/** The entries of one change, with the key that authenticates the head after them. */
export interface EntriesOfChange {
  tenantId: string;
  groups: readonly Group[];
  headKey: MacKey;
}

interface KeyedHead {
  head: ChainHead;
  key: MacKey;
}

/** Entries of a tenant without an authentic head are stored but not linked. */
function insertLinked(run: Run, segments: readonly Group[], heads: Map<string, KeyedHead>): void {
  for (const { tenantId, latestId, texts } of segments) {
    const keyed = heads.get(tenantId);
    const links = keyed === undefined ? null : link(keyed.head, tenantId, texts);
    const row = segmentRow(tenantId, { id: latestId, texts }, links);
    run(INSERT, [row.tenant_id, row.id, row.entries, row.first_seq, row.hashes]);
    if (keyed !== undefined && links !== null) keyed.head = links.head;
  }
  for (const [tenantId, { head, key }] of heads) {
    const { seq, hash, mac, key_version } = headRow(tenantId, head, key);
    run(UPDATE_HEAD, [seq, hash, mac, key_version, tenantId]);
  }
}
