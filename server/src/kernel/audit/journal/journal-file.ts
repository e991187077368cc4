import { randomBytes } from 'node:crypto';
import {
  close,
  closeSync,
  constants,
  fdatasync,
  fsyncSync,
  ftruncateSync,
  openSync,
  rmSync,
  write,
  writeSync,
} from 'node:fs';
import { syncFolderOf } from '../../crypto/root-key.ts';
import type { MacKey } from '../../keys/keyring.ts';
import { FRAME_BYTES_MAX, JOURNAL_ID_BYTES, PAGE_BYTES, pagesOf, writeFrame } from './journal-frame.ts';

/** The file is a ring buffer: batches that were moved into the database are overwritten. It has its full size at once, but is sparse until used. */
export const JOURNAL_BYTES = 16 * 1024 * 1024;
/** The first page identifies the journal. */
export const FIRST_PAGE = 1;
export const HEADER_SEQ = 0;

interface Place {
  seq: number;
  page: number;
}

/**
 * The file in which batches of entries become durable before they are moved into the database, each by one asynchronous write that does not block
 * the process. A write is durable when it returns (O_DSYNC, or fdatasync where a system has no such flag).
 */
export class JournalFile {
  readonly id = randomBytes(JOURNAL_ID_BYTES);
  readonly #file: string;
  readonly #fd: number;
  readonly #pages: number;
  readonly #buffer = Buffer.alloc(FRAME_BYTES_MAX);
  #seq = HEADER_SEQ;
  #nextPage = FIRST_PAGE;
  /** The frames that are not released yet, oldest first. */
  #needed: Place[] = [];

  private constructor(file: string, fd: number, bytes: number) {
    this.#file = file;
    this.#fd = fd;
    this.#pages = bytes / PAGE_BYTES;
  }

  /** Creates the file with nothing but its header. */
  static create(file: string, key: MacKey, bytes: number): JournalFile {
    const { O_CREAT, O_EXCL, O_RDWR, O_DSYNC = 0 } = constants;
    const fd = openSync(file, O_CREAT | O_EXCL | O_RDWR | O_DSYNC, 0o600);
    try {
      const journal = new JournalFile(file, fd, bytes);
      const pages = writeFrame(journal.#buffer, { id: journal.id, seq: HEADER_SEQ, payload: '' }, key);
      writeSync(fd, journal.#buffer, 0, pages * PAGE_BYTES, 0);
      ftruncateSync(fd, bytes);
      fsyncSync(fd);
      syncFolderOf(file);
      return journal;
    } catch (error) {
      closeSync(fd);
      rmSync(file, { force: true });
      throw error;
    }
  }

  /** Whether a payload of this many bytes fits without overwriting a frame that is not released. */
  hasRoom(payloadBytes: number): boolean {
    return this.#pageFor(pagesOf(payloadBytes)) !== null;
  }

  /** An empty journal starts again at its first page, so that a rarely used file stays small. */
  #pageFor(pages: number): number | null {
    const oldest = this.#needed[0]?.page;
    if (oldest === undefined) return FIRST_PAGE;
    const next = this.#nextPage;
    if (next <= oldest) return next + pages <= oldest ? next : null;
    if (next + pages <= this.#pages) return next;
    return FIRST_PAGE + pages <= oldest ? FIRST_PAGE : null;
  }

  /** Calls back with the batch's number when it is durable, or with the error if it may not be. Only one append may run at a time. */
  append(payload: string, key: MacKey, done: (error: Error | null, seq: number) => void): void {
    const seq = this.#seq + 1;
    const pages = writeFrame(this.#buffer, { id: this.id, seq, payload }, key);
    const page = this.#pageFor(pages);
    if (page === null) throw new Error('the journal has no room for this batch');
    this.#write(0, pages * PAGE_BYTES, page * PAGE_BYTES, (error) => {
      if (error === null) {
        this.#seq = seq;
        this.#nextPage = page + pages;
        this.#needed.push({ seq, page });
      }
      done(error, seq);
    });
  }

  #write(from: number, length: number, position: number, done: (error: Error | null) => void): void {
    write(this.#fd, this.#buffer, from, length, position, (error, written) => {
      if (error !== null) done(error);
      else if (written === 0) done(new Error('the journal accepts no more batches'));
      else if (written < length) this.#write(from + written, length - written, position + written, done);
      else if (constants.O_DSYNC === undefined) fdatasync(this.#fd, done);
      else done(null);
    });
  }

  /** Batches up to this one are durable in the database, so their pages can be reused. */
  release(seq: number): void {
    const firstNeeded = this.#needed.findIndex((batch) => batch.seq > seq);
    this.#needed.splice(0, firstNeeded === -1 ? this.#needed.length : firstNeeded);
  }

  /** Called when everything is in the database. */
  remove(): void {
    close(this.#fd, () => {});
    rmSync(this.#file, { force: true });
  }
}
