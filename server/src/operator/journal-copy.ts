import { closeSync, fsyncSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import type { SourceRecord } from './fill-database.ts';

/** The audit journal of an installation on SQLite. Most of it is empty, so only the non-empty pieces are held. */
export class JournalCopy {
  readonly #pieces: { at: number; piece: Buffer }[] = [];
  #bytes = 0;

  take(record: Exclude<SourceRecord, { table: string }>): void {
    if ('counts' in record) this.#bytes = record.journalBytes;
    else this.#pieces.push({ at: record.journalAt, piece: record.piece });
  }

  /** Null if there was none. */
  get content(): Buffer | null {
    if (this.#bytes === 0) return null;
    const all = Buffer.alloc(this.#bytes);
    for (const { at, piece } of this.#pieces) piece.copy(all, at);
    return all;
  }

  /** The next start on SQLite moves its pending entries into the log, as after any stop. */
  writeTo(file: string): void {
    rmSync(file, { force: true });
    if (this.#bytes === 0) return;
    const fd = openSync(file, 'wx', 0o600);
    try {
      ftruncateSync(fd, this.#bytes);
      for (const { at, piece } of this.#pieces) writeSync(fd, piece, 0, piece.length, at);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  }
}
